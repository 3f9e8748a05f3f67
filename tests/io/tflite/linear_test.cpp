// Writing and reading take time in proportion to the model: a bound that what grows with the square
// of the operands misses by far.
#include <chrono>
#include <string>

#include "graph_helpers.hpp"
#include "quadrant/ir/ops.hpp"

using namespace tflite_test;

namespace {

constexpr std::int64_t many = 40'000;
constexpr std::chrono::seconds bound{20};

NodeId add(Graph& graph, std::string_view kind, std::vector<Value> operands, TensorType type,
           Attributes attributes = {}, std::size_t results = 1) {
  return graph.add({.kind = std::string(kind),
                    .name = {},
                    .operands = std::move(operands),
                    .results = std::vector<ResultSpec>(results, {"", std::move(type)}),
                    .attributes = std::move(attributes),
                    .constant = {}});
}

/// One value that many read, and one that reads many.
Graph wide_graph(std::string_view join, Attributes attributes) {
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
Graph split_graph() {
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, Shape{1, many}, nullptr});
  const TensorType part{ElementType::float32, Shape{1, 1}, nullptr};
  const NodeId split = add(graph, ops::Split::kind, {x}, part, {{"axis", std::int64_t{1}}}, many);
  std::vector<Value> parts;
  for (std::uint32_t i = 0; i < many; ++i) {
    parts.push_back({add(graph, "onnx.Relu", {Value{split, i}}, part)});
  }
  graph.add_output(
      "y", {add(graph, ops::Concat::kind, std::move(parts),
                {ElementType::float32, Shape{1, many}, nullptr}, {{"axis", std::int64_t{1}}})});
  return graph;
}

}  // namespace

TEST_CASE("operations of very many operands and results") {
  for (const Graph& graph : {wide_graph(ops::Concat::kind, {{"axis", std::int64_t{1}}}),
                             wide_graph("onnx.Sum", {}), split_graph()}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::byte> bytes = bytes_of(graph);
    const Graph again = graph_of(bytes);
    CHECK(again.node_count() >= many);
    CHECK(std::chrono::steady_clock::now() - begin < bound);
  }
}
