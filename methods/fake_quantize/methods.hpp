// The scheme's methods.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "fake_quantize/profiles.hpp"
#include "quadrant/methods/fake_quantize.hpp"

namespace quadrant::inline v0::low_precision {

/// What is known of every node of `order`, which is a topological one. One sweep; linear.
[[nodiscard]] std::unordered_map<NodeId, PendingDequantize> follow_dequantized(
    const GraphView& graph, std::span<const NodeId> order, KernelsTarget target);

/// What the node's results can be: the pending form, and the one in which all their readers
/// quantize them.
void add_forms(const PendingDequantize& pending, NodeRef node,
               Possibilities<GivenForm>& possibilities);

/// Phase 4: the constant that is operand `operand` becomes codes of `sum`, where each of its
/// elements belongs to one scale.
[[nodiscard]] Expected<void> encode_term(NodeRef node, std::uint32_t operand, const GivenForm& sum,
                                         RewriteContext& context);

void register_borders(FakeQuantizeScheme::Registration& methods);
void register_computations(FakeQuantizeScheme::Registration& methods,
                           const LowPrecisionProfile& target);

}  // namespace quadrant::inline v0::low_precision
