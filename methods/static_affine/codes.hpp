// What the methods of static_affine share.
#pragma once

#include <cstdint>

#include "quadrant/engine/method.hpp"
#include "quadrant/engine/rewriting.hpp"
#include "quadrant/methods/static_affine.hpp"

namespace quadrant::inline v0::static_affine {

/// For `callback` of an operation whose results are activations: whether `wanted` is what they can
/// be. If not, says why.
[[nodiscard]] bool makes_activation(const StaticAffine& scheme, NodeRef node,
                                    const AffineForm& wanted, Asks<AffineForm>& asks);

/// For `rewriter`: the results that were selected get their types, and codes are computed from then
/// on.
[[nodiscard]] Expected<void> compute_codes(NodeRef node, RewriteContext& context);

/// The constant that the value is, perhaps behind a few operations that only move elements; null
/// for what is computed.
[[nodiscard]] const Constant* constant_behind(const GraphView& graph, Value value) noexcept;

/// Whether a scale for each index of axis `channel` of the value, which is a constant behind moves,
/// is one for each index of an axis of that constant.
[[nodiscard]] bool reaches_constant(const GraphView& graph, Value value, std::int64_t channel);

/// Whether the node's result has elements of operand 0, zeros, and what lies between them, and
/// nothing else: the parameters that fit the operand fit it.
[[nodiscard]] bool is_move(NodeRef node) noexcept;

/// The same, and each element of the result is one of the operand's, the largest of several or one
/// that is chosen by its place: what limits the result might as well limit the operand.
[[nodiscard]] bool chooses_elements(NodeRef node) noexcept;

/// Whether the value is computed from integers of more than 8 bits, or Booleans, and constants
/// alone, by no layer: a position, a mask. These are
/// small numbers that must be exact, or large ones that stand for infinity. False where that takes
/// long to find out.
[[nodiscard]] bool is_computed_from_integers(const GraphView& graph, Value value);

/// Whether the node limits its operand, element by element: Relu, Clip, Min with a constant.
[[nodiscard]] bool is_clamp(NodeRef node) noexcept;

/// The same, and nobody else reads the operand: what it was before does not matter then.
[[nodiscard]] bool is_only_clamp(NodeRef node) noexcept;

}  // namespace quadrant::inline v0::static_affine
