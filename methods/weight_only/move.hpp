// What methods of operations that only move elements do.
#pragma once

#include <optional>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::weight_only {

/// Why codes of a format that is not uniform do not move.
inline constexpr const char* stays_in_place =
    "codes of a format that is not uniform do not move: fold what moves them into the weight";

/// The groups of operand 0 that become `wanted`; empty where there are none, which is said.
[[nodiscard]] std::optional<Granularity> moved_groups(const WeightOnly& scheme, NodeRef node,
                                                      const Granularity& wanted,
                                                      Asks<Granularity>& asks);
/// For `callback`: asks for operand 0 in them.
void ask_operand(const WeightOnly& scheme, NodeRef node, const Granularity& wanted,
                 Asks<Granularity>& asks);

/// For `rewriter`: each result that was selected gets its type, and moves codes from then on.
[[nodiscard]] Expected<void> move_codes(const Move& move, NodeRef node, RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
