#include "quadrant/report/summary.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quadrant/methods/weight_only.hpp"
#include "quadrant/report/tables.hpp"

namespace quadrant {
namespace {

Constant ones(Shape shape) {
  const std::vector<float> values(static_cast<std::size_t>(*shape.element_count()), 1.0F);
  return Constant::from_values<float>(ElementType::float32, std::move(shape), values);
}

// y = relu(x w' + bias) v: w goes through a transpose, and u to an operation nobody knows.
Graph example() {
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, {2, 4}, nullptr});
  const Value w = graph.add_constant("w", ones({8, 4}));
  const Value bias = graph.add_constant("bias", ones({8}));
  const Value v = graph.add_constant("v", ones({8, 16}));
  const Value u = graph.add_constant("u", ones({100}));
  const auto add = [&graph](std::string kind, const std::string& name, std::vector<Value> operands,
                            Shape shape) {
    return Value{
        graph.add({.kind = std::move(kind),
                   .name = name,
                   .operands = std::move(operands),
                   .results = {{name, {ElementType::float32, std::move(shape), nullptr}}}})};
  };
  const Value transposed = add("transpose", "w_t", {w}, {4, 8});
  const Value first = add("matmul", "first", {x, transposed}, {2, 8});
  const Value sum = add("test.relu", "relu", {first, bias, u}, {2, 8});
  graph.add_output("y", add("matmul", "second", {sum, v}, {2, 16}));
  return graph;
}

struct Run {
  Graph graph = example();
  Registry registry = weight_only_registry().value();
  QuantizeResult result;
  Summary summary;

  explicit Run(const QuantizeOptions& options = {})
      : result(quantize(graph, registry, options).value()),
        summary(summarize(graph, registry, result)) {}
};

TEST_CASE("a summary counts weights before and after") {
  const Run run;
  const Summary& summary = run.summary;
  CHECK(summary.scheme == "weight_only");
  CHECK(summary.gain_model == "bytes");
  CHECK(summary.gain_unit == "bytes");
  CHECK(summary.weights_before == WeightTotals{4, 32 + 8 + 128 + 100, 1072});
  // w: a code for each element, a scale and a zero point, 5 bytes, for each of 8 rows; v: of 16
  // columns.
  const std::uint64_t w_bytes = 32 + 40;
  const std::uint64_t v_bytes = 128 + 80;
  CHECK(summary.quantized_after == WeightTotals{2, 32 + 128, w_bytes + v_bytes});
  CHECK(summary.weights_after == WeightTotals{4, 268, w_bytes + v_bytes + 432});
  CHECK(summary.objective == Gain{640 - static_cast<std::int64_t>(w_bytes + v_bytes)});
  CHECK(summary.weights_before.bits_per_element() == doctest::Approx(32));
  CHECK(WeightTotals{}.bits_per_element() == 0);
}

TEST_CASE("eligible are weights that reach a weight operand, also through others") {
  const Run run;
  CHECK(run.summary.eligible == WeightTotals{2, 160, 640});
  CHECK(run.summary.eligible_quantized == run.summary.eligible);
}

TEST_CASE("weights that came quantized are counted apart, where nothing else is done") {
  const Run first;
  const Registry registry = weight_only_registry().value();
  const QuantizeResult again = quantize(first.result.graph, registry).value();
  const Summary summary = summarize(first.result.graph, registry, again);
  CHECK(summary.given == first.summary.quantized_after);
  CHECK(first.summary.given == WeightTotals{});
  CHECK(to_string(summary).find("2 weights, which the model came with and keeps") !=
        std::string::npos);
  CHECK(to_string(first.summary).find("came with") == std::string::npos);
  CHECK(nlohmann::json::parse(print_json(summary))["given"]["count"] == 2);
}

TEST_CASE("what a user excludes stays eligible") {
  QuantizeOptions options;
  const Graph graph = example();
  options.vetoes.emplace(graph.find_value("v").node, "because");
  const Run run(options);
  CHECK(run.summary.eligible.count == 2);
  CHECK(run.summary.eligible_quantized == WeightTotals{1, 32, 128});
}

TEST_CASE("weights left in float come with their reason, largest first") {
  QuantizeOptions options;
  const Graph graph = example();
  options.vetoes.emplace(graph.find_value("v").node, "because");
  const Run run(options);
  const auto& left = run.summary.left_in_float;
  REQUIRE(left.size() == 3);
  CHECK(left[0].name == "v");
  CHECK(left[0].bytes == 512);
  CHECK(left[0].eligible);
  CHECK(left[0].reason == "because");
  CHECK(left[0].type.shape == Shape{8, 16});
  CHECK(left[1].name == "u");
  CHECK_FALSE(left[1].eligible);
  CHECK_FALSE(left[1].reason.empty());
  CHECK(left[2].name == "bias");
}

TEST_CASE("operations are counted on both sides") {
  const Run run;
  const auto count = [&](std::string_view kind) {
    for (const OperationCount& entry : run.summary.operations) {
      if (entry.kind == kind) return entry;
    }
    return OperationCount{};
  };
  CHECK(count("matmul") == OperationCount{"matmul", 2, 2});
  CHECK(count("test.relu") == OperationCount{"test.relu", 1, 1});
  CHECK(count("dequantize") == OperationCount{"dequantize", 0, 2});
  CHECK(count("constant") == OperationCount{});
  CHECK(count("input") == OperationCount{});
}

TEST_CASE("the text shows ten weights and says how many more there are") {
  Summary summary = Run().summary;
  summary.file_bytes_before = 2000;
  summary.file_bytes_after = 1000;
  summary.seconds = 1.5;
  summary.left_in_float.resize(12, summary.left_in_float[0]);
  const std::string text = to_string(summary);
  CAPTURE(text);
  CHECK(text.find("2.00 kB") != std::string::npos);
  CHECK(text.find("50.0 %") != std::string::npos);
  CHECK(text.find("2 of 2 eligible weights, 100.0 % of their bytes") != std::string::npos);
  CHECK(text.find("1.50 s") != std::string::npos);
  CHECK(text.find("  ... and 2 more (in JSON all are listed)\n") != std::string::npos);
  CHECK(text.find(" \n") == std::string::npos);
}

TEST_CASE("the text of nothing is no table of nothing") {
  Summary summary;
  CHECK(to_string(summary).find("no weight is left in float") != std::string::npos);
}

TEST_CASE("of several schemes, those that no weight has are only named") {
  const Graph graph = example();
  WeightOnlyOptions slim;
  slim.bits = 4;
  const std::vector<Registry> both{weight_only_registry().value().renamed("wide"),
                                   weight_only_registry(slim).value().renamed("slim")};
  const Registry registry = Registry::join(both).value();
  const QuantizeResult result = quantize(graph, registry).value();
  const Summary summary = summarize(graph, registry, result);
  REQUIRE(summary.schemes.size() == 2);
  CHECK(summary.schemes[0].name == "slim");
  CHECK(summary.schemes[0].weights == 2);  // w through the transpose, and v
  CHECK(summary.schemes[0].options == result.analysis.plan.schemes[0].options);
  CHECK(summary.schemes[1].weights == 0);
  const std::string text = to_string(summary);
  CAPTURE(text);
  CHECK(text.find("  slim          2  ") != std::string::npos);
  CHECK(text.find("  of no weight: wide\n") != std::string::npos);
  CHECK(text.find(summary.schemes[1].options) == std::string::npos);
}

TEST_CASE("the JSON holds everything") {
  Summary summary = Run().summary;
  summary.file_bytes_before = 2000;
  const auto json = nlohmann::json::parse(print_json(summary));
  CHECK(json["file_bytes_before"] == 2000);
  CHECK(json["file_bytes_after"] == nullptr);
  CHECK(json["eligible_quantized"]["bytes"] == 640);
  CHECK(json["quantized_after"]["bits_per_element"] == doctest::Approx(14));
  CHECK(json["schemes"].size() == 1);
  CHECK(json["schemes"][0]["weights"] == 2);
  CHECK(json["left_in_float"].size() == 2);
  CHECK(json["left_in_float"][0]["name"] == "u");
  CHECK(json["left_in_float"][0]["shape"] == nlohmann::json::array({100}));
  CHECK(json["operations"].size() == summary.operations.size());
}

TEST_CASE("names that are not UTF-8 do not break the JSON") {
  Summary summary;
  summary.left_in_float.push_back({"a\xff", {}, 1, false, "\xc0"});
  CHECK(nlohmann::json::parse(print_json(summary))["left_in_float"][0]["bytes"] == 1);
}

TEST_CASE("explanations as JSON") {
  const Run run;
  const std::vector<Explanation> all = explain_all(run.graph, run.registry, run.result.analysis);
  const auto json = nlohmann::json::parse(print_json(all));
  REQUIRE(json.size() == all.size());
  bool found = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(json[i]["value"] == all[i].value);
    CHECK(json[i]["reason"] == all[i].reason);
    CHECK(json[i]["requests"].size() == all[i].requests.size());
    CHECK(json[i]["benefits"].size() == all[i].benefits.size());
    if (all[i].value != "v") continue;
    found = true;
    CHECK(json[i]["state"] == "ToQuantize");
    CHECK(json[i]["requests"][0]["selected"] == true);
    CHECK(json[i]["requests"][0]["from"][0] == all[i].requests[0].from[0]);
    const auto& conversions = json[i]["conversions"];
    REQUIRE(conversions.size() == 1);
    CHECK(conversions[0]["from"] == "axis=1");
    CHECK(conversions[0]["to"] == "float");
    CHECK(conversions[0]["gain"] == 0);
    CHECK(conversions[0]["readers"] == nlohmann::json::array({"second (operand 1)"}));
    CHECK(json[i]["blockers"] == nlohmann::json::array());
  }
  CHECK(found);
}

TEST_CASE("explanations as JSON name the blockers") {
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, {2, 4}, nullptr});
  const Value t = {graph.add({.kind = "transpose",
                              .name = "t",
                              .operands = {x},
                              .results = {{"t", {ElementType::float32, {4, 2}, nullptr}}}})};
  const Registry registry = weight_only_registry().value();
  const std::vector<Explanation> explanations{
      explain(graph, registry, analyze(graph, registry).value(), t.node)};
  const auto json = nlohmann::json::parse(print_json(explanations));
  CHECK(json[0]["blockers"] == nlohmann::json::array({"x"}));
}

TEST_CASE("explanations as JSON name what couplings take") {
  Explanation why;
  why.couplings = {{"a", "axis=0"}, {"b\"", "axis=1"}};
  const std::vector<Explanation> explanations{why, {}};
  const auto json = nlohmann::json::parse(print_json(explanations));
  const nlohmann::json wanted{{{"with", "a"}, {"constraint", "axis=0"}},
                              {{"with", "b\""}, {"constraint", "axis=1"}}};
  CHECK(json[0]["couplings"] == wanted);
  CHECK(json[1]["couplings"] == nlohmann::json::array());
}

}  // namespace
}  // namespace quadrant
