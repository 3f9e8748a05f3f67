// Writing and reading take time in proportion to the model: of sixteen times the operands, sixteen
// times as much, where what grows with their square takes 256 times. Between them is room for all
// else that a machine does.
#include <algorithm>
#include <ctime>
#include <string>

#include "graph_helpers.hpp"
#include "quadrant/ir/ops.hpp"

using namespace tflite_test;

namespace {

NodeId add(Graph& graph, std::string_view kind, std::vector<Value> operands, TensorType type,
           Attributes attributes = {}, std::size_t results = 1) {
  return graph.add({.kind = std::string(kind),
                    .operands = std::move(operands),
                    .results = std::vector<ResultSpec>(results, {"", std::move(type)}),
                    .attributes = std::move(attributes)});
}

/// One value that many read, and one that reads many.
Graph wide_graph(std::int64_t many, std::string_view join, Attributes attributes) {
  Graph graph;
  const TensorType type{ElementType::float32, Shape{1, 1}, nullptr};
  const Value x = graph.add_input("x", type);
  std::vector<Value> parts;
  for (std::int64_t i = 0; i < many; ++i) {
    parts.push_back({add(graph, "onnx.Relu", {x}, type)});
  }
  const bool is_concat = join == ops::Concat::kind;
  graph.add_output("y", {add(graph, join, std::move(parts),
                             {ElementType::float32, Shape{1, is_concat ? many : 1}, nullptr},
                             std::move(attributes))});
  return graph;
}

/// One with many results, each of which is read.
Graph split_graph(std::int64_t many) {
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, Shape{1, many}, nullptr});
  const TensorType part{ElementType::float32, Shape{1, 1}, nullptr};
  const NodeId split = add(graph, ops::Split::kind, {x}, part, {{"axis", std::int64_t{1}}},
                           static_cast<std::size_t>(many));
  std::vector<Value> parts;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(many); ++i) {
    parts.push_back({add(graph, "onnx.Relu", {Value{split, i}}, part)});
  }
  graph.add_output(
      "y", {add(graph, ops::Concat::kind, std::move(parts),
                {ElementType::float32, Shape{1, many}, nullptr}, {{"axis", std::int64_t{1}}})});
  return graph;
}

/// Seconds of the processor, whatever else it does: the least of several times.
double seconds_for(const Graph& graph) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    CHECK(graph_of(bytes_of(graph)).node_count() > 0);
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace

TEST_CASE("operations of very many operands and results") {
  const auto check_growth = [](auto graph_of_size) {
    constexpr std::int64_t some = 1000;
    const double once = seconds_for(graph_of_size(some));
    const double sixteen_times = seconds_for(graph_of_size(16 * some));
    CAPTURE(once);
    CHECK(sixteen_times < 64 * once);
  };
  check_growth([](std::int64_t many) {
    return wide_graph(many, ops::Concat::kind, {{"axis", std::int64_t{1}}});
  });
  check_growth([](std::int64_t many) { return wide_graph(many, "onnx.Sum", {}); });
  check_growth(split_graph);
}
