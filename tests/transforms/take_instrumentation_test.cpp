#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/scales.hpp"
#include "model_text.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::test {
namespace {

TEST_CASE("stats, stats_ref and coupled_ref are taken off, wherever they stand") {
  Graph graph = parsed(
      "graph {}\n%x: tensor<2x3xf32> = input()\n"
      "%s: tensor<2x3xf32> = stats(%x) {layer_stats = [-1.0, 2.0], axis_stats = [-1.0, 1.0, 0.0, "
      "2.0], axis = 0}\n"
      "%c: tensor<2x3xf32> = coupled_ref(%s) {coupled_key = \"k\"}\n"
      "%t: tensor<2x3xf32> = stats(%c) {layer_stats = [-3.0, 0.5]}\n"
      "%r: tensor<2x3xf32> = onnx.Relu(%t)\n"
      "%u: tensor<2x3xf32> = stats_ref(%r) {stats_key = \"after\"}\n"
      "%d: tensor<2x3xf32> = coupled_ref(%u) {coupled_key = \"k\"}\n"
      "%e: tensor<2x3xf32> = coupled_ref(%d) {coupled_key = \"alone\"}\n"
      "output(%e)\n");
  const auto taken = value_of(take_instrumentation(graph));
  REQUIRE(verify(graph));
  CHECK(operations_of(graph) == std::vector<std::string>{"onnx.Relu"});
  const Value x = graph.find_value("x");
  const Value r = graph.find_value("r");
  CHECK(graph.operands(r.node)[0] == x);
  CHECK(graph.operands(graph.outputs()[0])[0] == r);
  REQUIRE(taken.statistics.values.size() == 1);
  const TensorStatistics* const known = taken.statistics.find("x");
  REQUIRE(known != nullptr);
  CHECK(known->histogram.min() == -3);
  CHECK(known->histogram.max() == 2);
  CHECK(!known->by_channel);  // only one of the two knows channels
  CHECK(taken.couplings == std::vector<std::vector<Value>>{{x, r}});
  CHECK(taken.ungathered ==
        std::vector<LeftAlone>{{"r", "no statistics were gathered for stats_key 'after'"}});
  CHECK(taken.uncoupled ==
        std::vector<LeftAlone>{{"r", "no other value has the coupled_key 'alone'"}});
}

TEST_CASE("stats along an axis are those of the channels") {
  Graph graph = parsed(
      "graph {}\n%x: tensor<2x3xf32> = input()\n"
      "%s: tensor<2x3xf32> = stats(%x) {layer_stats = [-1.0, 2.0], axis_stats = [-1.0, 1.0, 0.0, "
      "2.0], axis = -2}\noutput(%s)\n");
  const auto taken = value_of(take_instrumentation(graph));
  const auto& channels = taken.statistics.find("x")->by_channel;
  REQUIRE(channels);
  CHECK(channels->axis == 0);
  REQUIRE(channels->channels.size() == 2);
  CHECK(channels->channels[0].min == -1);
  CHECK(channels->channels[0].max == 1);
  CHECK(channels->channels[1].min == 0);
  CHECK(channels->channels[1].max == 2);
}

TEST_CASE("attributes that make no sense are an error, and the graph is as it was") {
  for (const std::string bad : {"stats(%a) {layer_stats = [1.0, 0.0]}", "coupled_ref(%a) {}",
                                "stats_ref(%a) {stats_key = 1}"}) {
    CAPTURE(bad);
    Graph graph =
        value_of(parse_graph("graph {}\n%x: tensor<2xf32> = input()\n"
                             "%a: tensor<2xf32> = stats_ref(%x) {stats_key = \"k\"}\n"
                             "%s: tensor<2xf32> = " +
                             bad + "\noutput(%s)\n"));
    const std::string before = print_graph(graph);
    const auto taken = take_instrumentation(graph);
    REQUIRE(!taken);
    CHECK(taken.error().place.node == "s");
    CHECK(print_graph(graph) == before);
  }
}

// Two products whose results are added; each has statistics of its own, and they are coupled or
// not.
Graph two_products(bool coupled) {
  const std::string couple =
      coupled ? "coupled_ref(%sa) {coupled_key = \"both\"}" : "identity(%sa)";
  const std::string other = coupled ? "coupled_ref(%sb) {coupled_key = \"both\"}" : "identity(%sb)";
  return parsed(
      "graph {}\n%x: tensor<4x2xf32> = input()\n"
      "%sx: tensor<4x2xf32> = stats(%x) {layer_stats = [-1.0, 1.0]}\n"
      "%w: tensor<2x2xf32> = constant() [1, 2, 3, 4]\n%v: tensor<2x2xf32> = constant() [1, 0, 0, "
      "1]\n"
      "%a: tensor<4x2xf32> = matmul(%sx, %w)\n%b: tensor<4x2xf32> = matmul(%sx, %v)\n"
      "%sa: tensor<4x2xf32> = stats(%a) {layer_stats = [-4.0, 6.0]}\n"
      "%sb: tensor<4x2xf32> = stats(%b) {layer_stats = [-1.0, 1.0]}\n"
      "%ca: tensor<4x2xf32> = " +
      couple + "\n%cb: tensor<4x2xf32> = " + other +
      "\n%y: tensor<4x2xf32> = add(%ca, %cb)\n"
      "%sy: tensor<4x2xf32> = stats(%y) {layer_stats = [-5.0, 7.0]}\n"
      "%z: tensor<4x2xf32> = matmul(%sy, %v)\n"
      "%sz: tensor<4x2xf32> = stats(%z) {layer_stats = [-5.0, 7.0]}\noutput(%sz)\n");
}

// The types of %a and %b, as static_affine chooses them by what the model says.
std::pair<std::string, std::string> types_of(bool coupled) {
  Graph graph = two_products(coupled);
  auto taken = value_of(take_instrumentation(graph));
  CHECK(taken.ungathered.empty());
  CHECK(taken.uncoupled.empty());
  StaticAffineOptions options;
  options.statistics = std::make_shared<const StatisticsTable>(std::move(taken.statistics));
  QuantizeOptions run;
  run.couplings = std::move(taken.couplings);
  const auto result = value_of(quantize_static(graph, std::move(options), run));
  return {to_string(result.graph.type(result.graph.find_value("a"))),
          to_string(result.graph.type(result.graph.find_value("b")))};
}

TEST_CASE("coupled values share their parameters, others do not") {
  const auto [a, b] = types_of(false);
  CHECK(a.find("!quant.uniform") != std::string::npos);
  CHECK(b.find("!quant.uniform") != std::string::npos);
  CHECK(a != b);
  const auto [coupled_a, coupled_b] = types_of(true);
  CHECK(coupled_a == coupled_b);
  CHECK(coupled_a == a);  // of the wider range, which holds the other
}

}  // namespace
}  // namespace quadrant::test
