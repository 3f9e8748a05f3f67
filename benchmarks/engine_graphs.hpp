// Graphs of any size for the engine's benchmarks. `nodes` is about the number of nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::bench {

inline Value weight(Graph& graph, std::string name) {
  static const Constant contents =
      Constant::from_bytes(ElementType::float32, Shape{16, 16},
                           std::vector<std::byte>(std::size_t{16} * 16 * sizeof(float)));
  return graph.add_constant(std::move(name), contents);
}

inline Value input(Graph& graph) {
  return graph.add_input("x", {ElementType::float32, Shape{16, 16}, nullptr});
}

inline Value add(Graph& graph, std::string_view kind, std::string name,
                 std::vector<Value> operands) {
  return {
      graph.add({.kind = std::string(kind),
                 .name = name,
                 .operands = std::move(operands),
                 .results = {{std::move(name), {ElementType::float32, Shape{16, 16}, nullptr}}}})};
}

/// As long for every size: longer names are more work, but not the engine's.
inline std::string number(std::int64_t i) {
  std::string digits = std::to_string(i);
  return std::string(7 - digits.size(), '0') + digits;
}

/// One weight behind a chain of transposes, and one product at its end.
inline Graph chain(std::int64_t nodes) {
  Graph graph;
  Value value = weight(graph, "w");
  for (std::int64_t i = 0; i < nodes; ++i) {
    value = add(graph, ops::Transpose::kind, "t" + number(i), {value});
  }
  graph.add_output("y", add(graph, ops::MatMul::kind, "m", {input(graph), value}));
  return graph;
}

/// One weight that every product reads.
inline Graph wide(std::int64_t nodes) {
  Graph graph;
  const Value w = weight(graph, "w");
  const Value x = input(graph);
  for (std::int64_t i = 0; i < nodes / 2; ++i) {
    graph.add_output("y" + number(i), add(graph, ops::MatMul::kind, "m" + number(i), {x, w}));
  }
  return graph;
}

/// Weights whose branches part and meet again: each is read as it is and transposed, and the
/// products of both are added.
inline Graph diamonds(std::int64_t nodes) {
  Graph graph;
  Value x = input(graph);
  for (std::int64_t i = 0; i < nodes / 6; ++i) {
    const std::string suffix = number(i);
    const Value w = weight(graph, "w" + suffix);
    const Value t = add(graph, ops::Transpose::kind, "t" + suffix, {w});
    const Value s = add(graph, ops::Transpose::kind, "s" + suffix, {t});
    const Value left = add(graph, ops::MatMul::kind, "l" + suffix, {x, w});
    const Value right = add(graph, ops::MatMul::kind, "r" + suffix, {x, s});
    x = add(graph, "onnx.Add", "a" + suffix, {left, right});
  }
  graph.add_output("y", x);
  return graph;
}

/// Blocks of attention and a feed-forward network: six weights, their transposes and products,
/// residual additions, and operations that the scheme does not know.
inline Graph transformer(std::int64_t nodes) {
  Graph graph;
  Value x = input(graph);
  for (std::int64_t i = 0; i < nodes / 28; ++i) {
    const std::string block = "b" + number(i) + "_";
    const auto linear = [&](const std::string& name, Value from) {
      const Value w = weight(graph, block + name + "_w");
      const Value t = add(graph, ops::Transpose::kind, block + name + "_t", {w});
      return add(graph, ops::MatMul::kind, block + name, {from, t});
    };
    const auto other = [&](std::string_view kind, const std::string& name,
                           std::vector<Value> from) {
      return add(graph, kind, block + name, std::move(from));
    };
    const Value normed = other("onnx.LayerNormalization", "norm", {x});
    const Value q = linear("q", normed);
    const Value k = linear("k", normed);
    const Value v = linear("v", normed);
    const Value kt = other(ops::Transpose::kind, "kt", {k});
    const Value scores = other(ops::MatMul::kind, "scores", {q, kt});
    const Value weights = other("onnx.Softmax", "softmax", {scores});
    const Value mixed = other(ops::MatMul::kind, "mixed", {weights, v});
    const Value attended = other("onnx.Add", "attended", {x, linear("o", mixed)});
    const Value normed_again = other("onnx.LayerNormalization", "norm2", {attended});
    const Value hidden = other("onnx.Gelu", "gelu", {linear("up", normed_again)});
    x = other("onnx.Add", "out", {attended, linear("down", hidden)});
  }
  graph.add_output("y", x);
  return graph;
}

struct GraphShape {
  std::string_view name;
  Graph (*build)(std::int64_t nodes);
};
inline constexpr std::array graph_shapes{GraphShape{"chain", chain}, GraphShape{"wide", wide},
                                         GraphShape{"diamonds", diamonds},
                                         GraphShape{"transformer", transformer}};

}  // namespace quadrant::bench
