#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::test {
namespace {

constexpr std::string_view model =
    "graph {}\n%x: tensor<2x3xf32> = input()\n"
    "%a: tensor<2x3xf32> = stats_ref(%x) {stats_key = \"in\"}\n"
    "%y: tensor<2x3xf32> = multiply(%a, %a)\n"
    "%b: tensor<2x3xf32> = stats_ref(%y) {stats_key = \"square\"}\n"
    "%z: tensor<2x3xf32> = onnx.Relu(%b)\noutput(%z)\n";

ops::Stats stats_at(const Graph& graph, const std::string& name) {
  const NodeId node = graph.find_value(name).node;
  REQUIRE(graph.kind(node) == ops::Stats::kind);
  return ops::Stats{graph.ref(node)};
}

TEST_CASE("trial runs: the stats are the smallest and largest elements, counted by hand") {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0.5F, 2.0F);
  std::vector<Sample> samples;
  ops::Stats::Range of_x{1e9, -1e9};
  std::vector<ops::Stats::Range> of_squares(3, {1e9, -1e9});
  for (int i = 0; i < 20; ++i) {
    std::vector<float> values(6);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = normal(random);
      of_x.min = std::min<double>(of_x.min, values[k]);
      of_x.max = std::max<double>(of_x.max, values[k]);
      const double square = values[k] * values[k];
      of_squares[k % 3].min = std::min(of_squares[k % 3].min, square);
      of_squares[k % 3].max = std::max(of_squares[k % 3].max, square);
    }
    samples.push_back(sample_of({2, 3}, values));
  }
  Graph graph = parsed(model);
  const auto done =
      value_of(gather_stats(graph, Interpreter(), MemoryData(samples), {.axes = {{"square", -1}}}));
  CHECK(done.gathered == 2);
  CHECK(done.left.empty());
  REQUIRE(verify(graph));
  CHECK(operations_of(graph) ==
        std::vector<std::string>{"stats", "multiply", "stats", "onnx.Relu"});
  CHECK(value_of(stats_at(graph, "a").layer()) == of_x);
  CHECK(!value_of(stats_at(graph, "a").by_axis()));
  const auto axis = value_of(stats_at(graph, "b").by_axis());
  REQUIRE(axis);
  CHECK(axis->axis == 1);
  CHECK(axis->ranges == of_squares);
}

TEST_CASE("trial runs: what nothing finite is seen of stays, and is reported") {
  Graph graph = parsed(model);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto done = value_of(gather_stats(
      graph, Interpreter(), MemoryData({sample_of({2, 3}, std::vector<float>(6, infinity))})));
  CHECK(done.gathered == 0);
  CHECK(done.left == std::vector<LeftAlone>{{"a", "the samples had no finite element of it"},
                                            {"b", "the samples had no finite element of it"}});
  CHECK(operations_of(graph) == operations_of(parsed(model)));
}

TEST_CASE("trial runs: an axis of a key that is not there is an error") {
  Graph graph = parsed(model);
  const auto done =
      gather_stats(graph, Interpreter(), MemoryData({sample_of({2, 3}, std::vector<float>(6))}),
                   {.axes = {{"sqare", 1}}});
  REQUIRE(!done);
  CHECK(done.error().message == "an axis for stats_key 'sqare', which no stats_ref has");
}

}  // namespace
}  // namespace quadrant::test
