// What the methods of all families share.
#pragma once

#include <cstdint>
#include <vector>

#include "qdq_fusion/rules.hpp"
#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// Phase 1: whether the node's results can be codes without changing what anybody reads.
[[nodiscard]] Verdict fusible(const QdqFusion& scheme, NodeRef node);

/// Phase 1: the forms that they can be codes of.
void add_forms(const QdqFusion& scheme, NodeRef node, Possibilities<GivenForm>& possibilities);

/// Phase 2: the forms that the operand can be codes of; none where it is floats.
[[nodiscard]] std::vector<GivenForm> operand_forms(const Asks<GivenForm>& asks, NodeRef node,
                                                   std::uint32_t operand);

/// Why no kernel for `rule` reads or makes codes of this form: a literal, or null.
[[nodiscard]] const char* refuse_form(const KernelRule& rule, const GivenForm& form);

/// Phase 4: the results that were selected get their types.
[[nodiscard]] Expected<void> set_forms(NodeRef node, RewriteContext& context);

}  // namespace quadrant::inline v0::qdq_fusion
