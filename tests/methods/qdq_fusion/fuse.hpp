// Models as text, fused, and what is left of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/explain.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/shape_inference.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/ir/topology.hpp"
#include "quadrant/ir/verify.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::test {

template <class T>
T value_of(Expected<T> result) {
  REQUIRE_MESSAGE(result, (result ? std::string() : to_string(result.error())));
  return *std::move(result);
}

inline Graph parsed(std::string_view text) {
  Graph graph = value_of(parse_graph(text));
  const auto inferred = infer_shapes(graph);
  REQUIRE_MESSAGE(inferred, (inferred ? std::string() : to_string(inferred.error())));
  return graph;
}

struct Fused {
  FusedGraph result;

  [[nodiscard]] const Graph& graph() const { return result.graph; }

  /// Kinds of the operations, producers first, inputs, constants and outputs left out.
  [[nodiscard]] std::vector<std::string> kinds() const {
    std::vector<std::string> found;
    for (const NodeId node : value_of(topological_order(result.graph))) {
      const std::string_view kind = result.graph.kind(node);
      if (kind != ops::Input::kind && kind != ops::Constant::kind && kind != ops::Output::kind) {
        found.emplace_back(kind);
      }
    }
    return found;
  }
  /// Why the first node of that kind is what it is.
  [[nodiscard]] std::string reason(std::string_view kind) const {
    for (const NodeId node : result.analysis.order) {
      if (result.model.kind(node) != kind) continue;
      return explain(result.model, result.analysis.registry, result.analysis, node).reason;
    }
    return "no such node";
  }
  /// The type of the first node of that kind, as text.
  [[nodiscard]] std::string type(std::string_view kind) const {
    for (const NodeId node : value_of(topological_order(result.graph))) {
      if (result.graph.kind(node) == kind) return to_string(result.graph.type({node, 0}));
    }
    return "no such node";
  }
};

inline Fused fused(const Graph& graph, FusionTarget target = FusionTarget::tflite) {
  FusedGraph result = value_of(fuse_qdq(graph, {.target = target}));
  const auto verified = verify(result.graph);
  REQUIRE_MESSAGE(verified, (verified ? std::string() : to_string(verified.error())));
  return {std::move(result)};
}

inline Fused fused(std::string_view text, FusionTarget target = FusionTarget::tflite) {
  return fused(parsed(text), target);
}

using Kinds = std::vector<std::string>;

}  // namespace quadrant::test
