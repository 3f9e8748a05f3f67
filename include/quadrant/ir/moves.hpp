// Operations that move elements without changing them, and what becomes of groups of elements that
// share a scale.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Fills in, for the index `at` of an element of a result, the index `from` of the element of an
/// operand that it is; returns the operand's number. The spans have the ranks of both.
using Origin =
    std::function<std::uint32_t(std::span<const std::int64_t> at, std::span<std::int64_t> from)>;

struct Move {
  /// The groups of the operand, or of each of them, whose elements are, in the results, together in
  /// groups `wanted`. Empty when there are none, or when the node does not tell.
  std::optional<Granularity> (*source)(NodeRef node, const Granularity& wanted);
  /// Of result `result` of a node for which `source` found groups. May be any element that has the
  /// same scale, where the exact one depends on run-time indices.
  Origin (*origin)(NodeRef node, std::uint32_t result);
  /// Why `source` finds nothing: a literal.
  const char* refusal;
};

/// Of operations that hand on what they read, under a name of their own.
extern const Move identity_move;

/// The row of such a one: its one operand and its one result are the same.
[[nodiscard]] constexpr Operation identity_operation(std::string_view kind) {
  using enum Trait;
  return {.kind = kind,
          .family = Family::move,
          .operands = {1, 1},
          .results = {1, 1},
          .traits = {stays_in_range, takes_elements, keeps_elements, keeps_order, keeps_shape},
          .move = &identity_move};
}

/// identity, transpose, reshape, squeeze, unsqueeze, flatten, expand, slice, split, concat, and
/// gather with groups along other axes than the one that is looked up; and what a graph's own rows
/// say. Null for other operations.
[[nodiscard]] const Move* find_move(NodeRef node) noexcept;

/// Whether the value is a constant, or what operations of which `hands_on` is true make of
/// constants alone. Looks through 8 of them, one behind the other, so that a chain is not walked by
/// each of its readers.
[[nodiscard]] bool is_known(const GraphView& graph, Value value, bool (*hands_on)(NodeRef maker));

/// The type of result `result` of a node that moves so, in groups `groups`: scales and zero points
/// come from the operands, which are quantized by now, each from where its group's first element
/// comes from. Per tensor where the operand is.
[[nodiscard]] Expected<std::shared_ptr<const UniformType>> moved_type(const Move& move,
                                                                      NodeRef node,
                                                                      std::uint32_t result,
                                                                      const Granularity& groups);

}  // namespace quadrant::inline v0
