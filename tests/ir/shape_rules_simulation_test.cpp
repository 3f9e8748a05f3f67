#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/shape_inference.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

// A graph of %x, of shape 2x3, and of what `line` makes of it.
Expected<Graph> graph_of_line(const std::string& line, const std::string& x = "2x3xf32") {
  return parse_graph("graph {}\n%x: tensor<" + x +
                     "> = input()\n%y: tensor<*xundefined> = " + line + "\noutput(%y)\n");
}

std::string problem(const std::string& line, const std::string& x = "2x3xf32") {
  const auto graph = graph_of_line(line, x);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
  const auto valid = verify(*graph);
  return valid ? "" : valid.error().message;
}

NodeRef node_of(const Graph& graph) { return graph.ref(graph.find_value("y").node); }

TEST_CASE("simulated quantization and instrumentation: the result is what X is") {
  for (const std::string line :
       {"const_fake_quant(%x) {min = -1.0, max = 1.0}",
        "const_fake_quant(%x) {min = [0.0, 0.0, -1.0], max = [1.0, 2.0, 1.0], axis = 1}",
        "stats(%x) {layer_stats = [-1.0, 1.0]}", "stats_ref(%x) {stats_key = \"k\"}",
        "coupled_ref(%x) {coupled_key = \"k\"}"}) {
    CAPTURE(line);
    auto graph = graph_of_line(line);
    REQUIRE(graph);
    REQUIRE(infer_shapes(*graph));
    CHECK(to_string(graph->type(graph->find_value("y"))) == "tensor<2x3xf32>");
    CHECK(problem(line) == "");
    // The text form holds all of it.
    const auto again = parse_graph(print_graph(*graph));
    REQUIRE(again);
    CHECK(print_graph(*again) == print_graph(*graph));
    // Codes are no real numbers, and neither are integers.
    CHECK(problem(line, "2x3xi32").find("float is wanted") != std::string::npos);
  }
}

TEST_CASE("fake_quant: bounds are scalars, or lists along an axis") {
  const auto wanted = [](const std::string& bound, const std::string& attributes) {
    auto graph =
        parse_graph("graph {}\n%x: tensor<2x3xf32> = input()\n%b: tensor<" + bound +
                    "> = input()\n%y: tensor<*xundefined> = fake_quant(%x, %b, %b) " + attributes);
    REQUIRE(graph);
    const auto done = infer_shapes(*graph);
    return done ? to_string(graph->type(graph->find_value("y"))) : done.error().message;
  };
  CHECK(wanted("f32", "{}") == "tensor<2x3xf32>");
  CHECK(wanted("3xf32", "{axis = -1}") == "tensor<2x3xf32>");
  CHECK(wanted("?xf32", "{axis = -1}") == "tensor<2x3xf32>");
  CHECK(wanted("3xf32", "{}") == "a bound of shape [3] without an axis");
  CHECK(wanted("2xf32", "{axis = 1}") == "2 channels along axis 1 of shape [2x3]");
  CHECK(wanted("f32", "{axis = 1}") == "a bound of shape []");
  CHECK(wanted("3xf32", "{axis = 2}") == "axis 2 of shape [2x3]");
  CHECK(wanted("f64", "{}").find("operands of types") != std::string::npos);
}

TEST_CASE("const_fake_quant: its ranges, channel by channel") {
  const auto graph = graph_of_line(
      "const_fake_quant(%x) {min = [0.0, -1.0], max = [1.0, 2.0], axis = -2, num_bits = 16, "
      "narrow_range = 1, is_signed = 1}");
  REQUIRE(graph);
  const ops::ConstFakeQuant view{node_of(*graph)};
  const auto ranges = view.ranges();
  REQUIRE(ranges);
  CHECK(*ranges == std::vector<FakeQuantRange>{{0, 1, 16, true, true}, {-1, 2, 16, true, true}});
  const auto axis = view.axis();
  REQUIRE(axis);
  CHECK(*axis == 0);
}

TEST_CASE("const_fake_quant: what is refused") {
  const auto refused = [](const std::string& attributes) {
    return problem("const_fake_quant(%x) {" + attributes + "}");
  };
  CHECK(refused("max = 1.0") == "attribute 'min' must be a real");
  CHECK(refused("min = 0, max = 1.0") == "attribute 'min' must be a real");
  CHECK(refused("min = [0.0], max = [1.0]") == "attribute 'min' must be a real");
  CHECK(refused("min = 0.0, max = 1.0, axis = 0") == "attribute 'min' must be a list of reals");
  CHECK(refused("min = 1.0, max = -1.0") == "a fake quantization of the range 1 to -1");
  CHECK(refused("min = nan, max = 1.0") == "a fake quantization of the range nan to 1");
  CHECK(refused("min = 0.0, max = inf") == "a fake quantization of the range 0 to inf");
  CHECK(refused("min = 0.0, max = 1.0, num_bits = 33") == "a fake quantization to 33 bits");
  CHECK(refused("min = 0.0, max = 1.0, num_bits = 0") == "a fake quantization to 0 bits");
  CHECK(refused("min = 0.0, max = 1.0, num_bits = 8.0") ==
        "attribute 'num_bits' has the wrong type");
  CHECK(refused("min = 0.0, max = 1.0, is_signed = 2") == "attribute 'is_signed' is 2");
  CHECK(refused("min = [0.0], max = [1.0, 2.0], axis = 0") == "1 smallest values and 2 largest");
  CHECK(refused("min = [0.0], max = [1.0], axis = 0") == "1 channels along axis 0 of shape [2x3]");
  CHECK(refused("min = real[], max = real[], axis = 0") == "no channels");
  CHECK(refused("min = [0.0], max = [1.0], axis = -3") == "axis -3 of shape [2x3]");
}

TEST_CASE("stats: of all elements, and along an axis") {
  const auto graph = graph_of_line(
      "stats(%x) {layer_stats = [-1.0, 2.0], axis_stats = [-1.0, 1.0, 0.0, 2.0], axis = -2}");
  REQUIRE(graph);
  const ops::Stats view{node_of(*graph)};
  const auto layer = view.layer();
  REQUIRE(layer);
  CHECK(*layer == ops::Stats::Range{-1, 2});
  const auto axis = view.by_axis();
  REQUIRE(axis);
  REQUIRE(axis->has_value());
  CHECK((*axis)->axis == 0);
  CHECK((*axis)->ranges == std::vector<ops::Stats::Range>{{-1, 1}, {0, 2}});
}

TEST_CASE("instrumentation: what is refused") {
  CHECK(problem("stats(%x) {}") == "attribute 'layer_stats' must be two reals");
  CHECK(problem("stats(%x) {layer_stats = [1.0]}") == "attribute 'layer_stats' must be two reals");
  CHECK(problem("stats(%x) {layer_stats = [1.0, 0.0]}") == "statistics of the range 1 to 0");
  CHECK(problem("stats(%x) {layer_stats = [0.0, inf]}") == "statistics of the range 0 to inf");
  const std::string layer = "stats(%x) {layer_stats = [0.0, 1.0], axis_stats = ";
  CHECK(problem(layer + "[0.0, 1.0, 0.0, 1.0]}") ==
        "attribute 'axis' must be there beside 'axis_stats'");
  CHECK(problem(layer + "[0.0, 1.0, 0.0], axis = 0}") ==
        "attribute 'axis_stats' has an odd length");
  CHECK(problem(layer + "[0.0, 1.0], axis = 0}") == "1 channels along axis 0 of shape [2x3]");
  CHECK(problem(layer + "[0.0, 1.0, 0.0, 1.0], axis = 2}") == "axis 2 of shape [2x3]");
  CHECK(problem("stats_ref(%x) {}") == "attribute 'stats_key' must be a string");
  CHECK(problem("stats_ref(%x) {stats_key = 1}") == "attribute 'stats_key' must be a string");
  CHECK(problem("coupled_ref(%x) {}") == "attribute 'coupled_key' must be a string");
}

}  // namespace
