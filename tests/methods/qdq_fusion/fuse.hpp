// Models as text, fused, and what is left of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model_text.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::test {

struct Fused {
  FusedGraph result;

  [[nodiscard]] const Graph& graph() const { return result.graph; }

  [[nodiscard]] std::vector<std::string> kinds() const { return operations_of(result.graph); }
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

inline Fused fused(const Graph& graph, KernelsTarget target = KernelsTarget::tflite) {
  FusedGraph result = value_of(quantize_qdq(graph, {.target = target}));
  const auto verified = verify(result.graph);
  REQUIRE_MESSAGE(verified, (verified ? std::string() : to_string(verified.error())));
  return {std::move(result)};
}

inline Fused fused(std::string_view text, KernelsTarget target = KernelsTarget::tflite) {
  return fused(parsed(text), target);
}

using Kinds = std::vector<std::string>;

}  // namespace quadrant::test
