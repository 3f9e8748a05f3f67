#include "quadrant/report/html_report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "methods/weight_only/build.hpp"
#include "numerics/metrics.hpp"

using namespace quadrant;

namespace {

std::size_t count(std::string_view page, std::string_view wanted) {
  std::size_t found = 0;
  for (auto at = page.find(wanted); at != page.npos; at = page.find(wanted, at + 1)) ++found;
  return found;
}

Graph two_weights(const std::string& name) {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, name, {20, 30});
  const Value bias = build::weight(graph, "bias", {30});
  const Value m = build::node(graph, ops::MatMul::kind, "m", {x, w});
  graph.add_output("y", build::node(graph, "onnx.Add", "sum", {m, bias}));
  REQUIRE(infer_shapes(graph).has_value());
  return graph;
}

struct Made {
  Graph graph;
  Registry registry = *weight_only_registry();
  QuantizeResult result;
  HtmlReport report;

  explicit Made(Graph from, const ReportLimits& limits = {}, bool is_plan = false)
      : graph(std::move(from)), result(*quantize(graph, registry)) {
    report = *gather_report({.graph = graph,
                             .registry = registry,
                             .analysis = result.analysis,
                             .quantized = is_plan ? nullptr : &result.graph,
                             .model = "m.onnx",
                             .gain_unit = "bytes"},
                            limits);
  }
};

std::string evil() { return "</script><b>\x01\xE2\x80\xA8\xFF\"'&"; }

}  // namespace

TEST_CASE("codes that are read as bits, or as indices into a table, have no SQNR") {
  Graph graph = two_weights("w");
  const Registry registry = *weight_only_registry();
  QuantizeResult result = *quantize(graph, registry);
  const auto reported = [&] {
    return gather_report({.graph = graph,
                          .registry = registry,
                          .analysis = result.analysis,
                          .quantized = &result.graph,
                          .model = "m.onnx",
                          .gain_unit = "bytes"},
                         {})
        ->weights.weights[0];
  };
  CHECK(reported().sqnr_db.has_value());
  const Value codes{graph.find_value("w").node, 0};
  REQUIRE(result.graph.type(codes).is_quantized());
  result.graph.add({.kind = std::string(ops::StorageCast::kind),
                    .name = "bits",
                    .operands = {codes},
                    .results = {{"bits", {ElementType::int8, Shape{20, 30}, nullptr}}}});
  CHECK_FALSE(reported().sqnr_db.has_value());
}

TEST_CASE("weights: bytes, SQNR and histogram are those of the quantized graph") {
  const Made made(two_weights("w"));
  REQUIRE(made.report.weights.weights.size() == 2);
  const ReportedWeight& w = made.report.weights.weights[0];
  CHECK(w.name == "w");
  CHECK(w.form == "axis=1");
  CHECK(w.bytes_before == 4 * 20 * 30);
  CHECK(w.bytes_after == 20 * 30 + 30 * 5);  // a scale and a zero point for each of 30 columns
  CHECK(w.readers == std::vector<std::string>{"matmul m"});
  const NodeId node = made.graph.find_value("w").node;
  const auto type = made.result.graph.type({node, 0}).uniform();
  REQUIRE(type);
  CHECK(*w.sqnr_db == doctest::Approx(*weight_sqnr_db(*made.graph.constant(node), type)));
  REQUIRE(w.histogram);
  CHECK(w.histogram->after.has_value());
  const ReportedWeight& bias = made.report.weights.weights[1];
  CHECK(bias.form.empty());
  CHECK_FALSE(bias.sqnr_db.has_value());
  CHECK(bias.histogram.has_value());
  CHECK(bias.bytes_after == bias.bytes_before);
  CHECK_FALSE(bias.why.reason.empty());
  CHECK(made.report.weights.in_float.bytes == 120);
}

TEST_CASE("a reshaped weight that is stored in another's place is found") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, "w", {4, 5, 30});
  const Value r = build::reshape(graph, "r", w, {20, 30});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, r}));
  REQUIRE(infer_shapes(graph).has_value());
  const Made made(std::move(graph));
  const ReportedWeight& weight = made.report.weights.weights.at(0);
  CHECK(weight.bytes_after < weight.bytes_before);
  REQUIRE(weight.sqnr_db.has_value());
  CHECK(*weight.sqnr_db > 30);
}

TEST_CASE("a plan's report reads no weight") {
  const Made made(two_weights("w"), {}, true);
  const ReportedWeight& w = made.report.weights.weights[0];
  CHECK(w.bytes_after == 20 * 30 + 30 * 5);
  CHECK_FALSE(w.histogram.has_value());
  CHECK_FALSE(w.sqnr_db.has_value());
  CHECK(count(print_html(made.report), "class=\"histogram\"") == 0);
}

TEST_CASE("the page has what was gathered, and nothing from elsewhere") {
  const std::string page = print_html(Made(two_weights("w")).report);
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(count(page, "<tbody class=\"weight") == 2);
  CHECK(count(page, "<details class=\"row") == 4);
  CHECK(count(page, "class=\"histogram\"") == 2);
  CHECK(count(page, "<script") == 1);
  for (const char* const address :
       {"http:", "https:", "//", "url(", "@import", " src=", "import("}) {
    CAPTURE(address);
    // Comments of the script are the only `//`.
    const auto script = page.find("<script>");
    const auto end = page.find("</script>");
    CHECK(count(page.substr(0, script) + page.substr(end), address) == 0);
  }
}

TEST_CASE("hostile names are text wherever they stand") {
  Graph graph = two_weights(evil());
  graph.set_node_name(graph.find_value("m").node, evil());
  Made made(std::move(graph));
  made.report.model = evil();
  made.report.bound = evil();
  made.report.gain_unit = evil();
  made.report.schemes = {{evil(), evil()}};
  made.report.frontier = {{100, 4, 1, evil(), true}};
  ValueAgreement worst{evil(), evil(), {}};
  made.report.sensitivity = {{evil(), {worst}, false}};
  const std::string page = print_html(made.report);
  CHECK(count(page, "</script>") == 1);
  CHECK(count(page, "<b>\\") == 0);
  CHECK(page.find('\x01') == page.npos);
  CHECK(page.find("\xE2\x80\xA8") == page.npos);
  CHECK(page.find('\xFF') == page.npos);
  CHECK(count(page, "&lt;/script&gt;&lt;b&gt;\\x01\\u2028\\xff&quot;&#39;&amp;") >= 5);
}

TEST_CASE("what is not known is not shown") {
  HtmlReport report = Made(two_weights("w")).report;
  CHECK(count(print_html(report), ">bound<") == 0);
  CHECK(count(print_html(report), "id=\"frontier\"") == 0);
  CHECK(count(print_html(report), "id=\"sensitivity\"") == 0);
  report.bound = "within 0.8 %";
  report.frontier = {{100, 4, 1, "four", true}};
  report.sensitivity = {{"w", {{"y", "matmul", {}}}, false}};
  CHECK(count(print_html(report), "within 0.8 %") == 1);
  CHECK(count(print_html(report), "id=\"frontier\"") == 1);
  CHECK(count(print_html(report), "id=\"sensitivity\"") == 1);
}

TEST_CASE("the page stays bounded, and says what it leaves out") {
  Graph graph;
  Value value = build::input(graph, "x", {2, 4});
  for (int i = 0; i < 300; ++i) {
    const Value w = build::weight(graph, "w" + std::to_string(i), {4, 4});
    value = build::node(graph, ops::MatMul::kind, "m" + std::to_string(i), {value, w});
  }
  graph.add_output("y", value);
  REQUIRE(infer_shapes(graph).has_value());
  const Made made(std::move(graph), {.weights = 7, .graph = {.rows = 11, .lanes = 4}});
  CHECK(made.report.weights.before.count == 300);
  CHECK(made.report.weights.left_out.count == 293);
  const std::string page = print_html(made.report);
  CHECK(count(page, "<tbody class=\"weight") == 7);
  CHECK(count(page, "<details class=\"row") == 11);
  CHECK(count(page, "Left out: the 293 smallest weights") == 1);
  CHECK(count(page, "Left out: the last 291 operations") == 1);
}

TEST_CASE("a model without weights and an empty graph have a page") {
  Graph graph;
  graph.add_output("y", build::input(graph, "x", {2}));
  CHECK(count(print_html(Made(std::move(graph)).report), "The model has no weights.") == 1);
  CHECK(count(print_html(Made(Graph()).report), "The model has no weights.") == 1);
}
