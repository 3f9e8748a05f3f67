// What the results of a known operation must be, given its operands: shape inference fills it in,
// the verifier checks it.
#pragma once

#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::detail {

/// The types of the results of `node`, in order, as far as its operands, attributes and (for casts)
/// its stated types tell. None for an operation that the table does not have, and for those of
/// which nothing follows. An error when operands are missing or contradict each other. May read
/// small constants (shapes, axes, sizes).
[[nodiscard]] Expected<std::vector<TensorType>> infer_results(NodeRef node);

/// `invalid_model` where `node` is an operator of ONNX, in any of its versions, that lacks operands
/// or results which it must have, or has more than it can. Says nothing of others. Operands that
/// subgraphs capture come behind the operator's own, and are not counted.
[[nodiscard]] Expected<void> check_onnx_signature(NodeRef node);

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
