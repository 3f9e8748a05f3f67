// What the results of a known operation must be, given its operands: shape inference fills it in,
// the verifier checks it.
#pragma once

#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::detail {

/// The types of the results of `node`, in order, as far as its operands, attributes and (for casts)
/// its stated types tell. None for an operation that is not in `ops.hpp`, and for those of which
/// nothing follows. An error when operands are missing or contradict each other. May read small
/// constants (shapes, axes, sizes).
[[nodiscard]] Expected<std::vector<TensorType>> infer_results(NodeRef node);

/// Whether result 0 of such an operation has the shape of operand 0, whatever that is.
[[nodiscard]] bool keeps_shape(std::string_view kind) noexcept;

/// Whether it has the one shape that all operands are stretched to.
[[nodiscard]] bool stretches_operands(std::string_view kind) noexcept;
/// Sets the types of the results of `id` where they follow, as `infer_shapes` does for all.
[[nodiscard]] Expected<void> infer_node(Graph& graph, NodeId id);

/// What both say together; an error when they contradict.
[[nodiscard]] Expected<TensorType> merge(const TensorType& stated, const TensorType& inferred);

/// A negative extent is an error.
[[nodiscard]] Expected<void> check_extents(const Shape& shape);

/// `node` by its name or, where it has none, by what it makes or is.
[[nodiscard]] Place place_of(NodeRef node);

/// `error` with the place filled in where it says none.
[[nodiscard]] Error at(NodeRef node, Error error);

}  // namespace quadrant::inline v0::detail
