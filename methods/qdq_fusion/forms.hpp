// The forms in which the results of nodes can be codes without changing any value that is read.
#pragma once

#include <span>
#include <unordered_map>

#include "qdq_fusion/rules.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// For every node of `order`, which is a topological one, that has one of them, or a reason. Two
/// sweeps; linear.
[[nodiscard]] std::unordered_map<NodeId, FusedForms> find_forms(const GraphView& graph,
                                                                std::span<const NodeId> order,
                                                                KernelsTarget target);

/// The data operands of the node under the rule for it.
struct DataOperands {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
[[nodiscard]] DataOperands data_operands(NodeRef node, const KernelRule& rule);

}  // namespace quadrant::inline v0::qdq_fusion
