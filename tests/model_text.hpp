// Models as text, read, and what they consist of.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape_inference.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

namespace quadrant::test {

template <class T>
T value_of(Expected<T> result) {
  REQUIRE_MESSAGE(result, (result ? std::string() : to_string(result.error())));
  return *std::move(result);
}

/// With shapes inferred.
inline Graph parsed(std::string_view text) {
  Graph graph = value_of(parse_graph(text));
  const auto inferred = infer_shapes(graph);
  REQUIRE_MESSAGE(inferred, (inferred ? std::string() : to_string(inferred.error())));
  return graph;
}

/// Kinds of the operations, producers first, inputs, constants and outputs left out.
inline std::vector<std::string> operations_of(const Graph& graph) {
  std::vector<std::string> found;
  for (const NodeId node : value_of(topological_order(graph))) {
    const std::string_view kind = graph.kind(node);
    if (kind != ops::Input::kind && kind != ops::Constant::kind && kind != ops::Output::kind) {
      found.emplace_back(kind);
    }
  }
  return found;
}

/// How many nodes are of that kind.
inline std::size_t count_of_kind(const Graph& graph, std::string_view kind) {
  std::size_t found = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node) == kind) ++found;
  }
  return found;
}

}  // namespace quadrant::test
