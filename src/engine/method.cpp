#include "quadrant/engine/method.hpp"

#include <vector>

#include "quadrant/engine/rewriting.hpp"

namespace quadrant::inline v0 {

Verdict QuantizationMethod::check_eligibility(NodeRef node,
                                              const EligibilityContext& context) const {
  const auto alternatives = patterns();
  if (alternatives.empty()) return {eligible_state()};
  // Few operands are the rule; a concat of thousands still works.
  std::vector<State> states;
  std::vector<std::uint8_t> present;
  for (const Value operand : node.operands()) {
    present.push_back(operand.is_absent() ? 0 : 1);
    states.push_back(operand.is_absent() ? State::Unquantized : context.state(operand));
  }
  for (const ParentsPattern& pattern : alternatives) {
    if (pattern.first_mismatch(states, present) < 0) return {eligible_state()};
  }
  return {State::Unquantized};
}

Expected<void> QuantizationMethod::rewriter(NodeRef /*node*/, RewriteContext& /*context*/) const {
  return {};
}

}  // namespace quadrant::inline v0
