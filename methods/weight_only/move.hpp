// What methods of operations that only move elements do.
#pragma once

#include "quadrant/engine/method.hpp"
#include "quadrant/engine/rewriting.hpp"
#include "quadrant/ir/moves.hpp"

namespace quadrant::inline v0::weight_only {

/// For `callback`: asks for operand 0 in the groups that become `wanted`, or says why not.
void ask_operand(const Move& move, NodeRef node, const Granularity& wanted,
                 Asks<Granularity>& asks);

/// For `rewriter`: each result that was selected gets its type, and moves codes from then on.
[[nodiscard]] Expected<void> move_codes(const Move& move, NodeRef node, RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
