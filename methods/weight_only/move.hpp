// What weight-only needs to know of an operation that only moves elements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "quadrant/engine/method.hpp"
#include "quadrant/engine/rewriting.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::weight_only {

/// Fills in, for the index `at` of an element of a result, the index `from` of the element of an
/// operand that it is; returns the operand's number. The spans have the ranks of both.
using Origin =
    std::function<std::uint32_t(std::span<const std::int64_t> at, std::span<std::int64_t> from)>;

struct Move {
  /// The groups of the operand, or of each of them, whose elements are, in the results, together in
  /// groups `wanted`. Empty when there are none, or when the node does not tell.
  std::optional<ScaleGroups> (*source)(NodeRef node, const ScaleGroups& wanted);
  /// Of result `result` of a node for which `source` found groups. May be any element that has the
  /// same scale, where the exact one depends on run-time indices.
  Origin (*origin)(NodeRef node, std::uint32_t result);
  /// Why `source` finds nothing: a literal.
  const char* refusal;
};

extern const Move identity_move;   ///< identity
extern const Move transpose_move;  ///< transpose
extern const Move reshape_move;    ///< reshape, squeeze, unsqueeze, flatten
extern const Move expand_move;     ///< expand
extern const Move slice_move;      ///< slice
extern const Move split_move;      ///< split
extern const Move concat_move;     ///< concat
extern const Move gather_move;     ///< gather, with groups along other axes than the one looked up

/// For `callback`: asks for operand 0 in the groups that become `wanted`, or says why not.
void ask_operand(const Move& move, NodeRef node, const ScaleGroups& wanted,
                 Asks<ScaleGroups>& asks);

/// For `rewriter`: each result that was selected gets its type, and moves codes from then on.
[[nodiscard]] Expected<void> move_codes(const Move& move, NodeRef node, RewriteContext& context);

/// The type of result `result` in groups `groups`: scales and zero points come from the operands,
/// which are quantized by now, each from where its group's first element comes from. Per tensor
/// where the operand is.
[[nodiscard]] Expected<std::shared_ptr<const UniformType>> moved_type(const Move& move,
                                                                      NodeRef node,
                                                                      std::uint32_t result,
                                                                      const ScaleGroups& groups);

}  // namespace quadrant::inline v0::weight_only
