#include "quadrant/engine/declare/method.hpp"

#include <array>
#include <span>
#include <vector>

#include "quadrant/engine/phases/rewriting.hpp"

namespace quadrant::inline v0 {

Verdict QuantizationMethod::check_eligibility(NodeRef node,
                                              const EligibilityContext& context) const {
  const auto alternatives = patterns();
  if (alternatives.empty()) return {eligible_state()};
  // Few operands are the rule; a concat of thousands still works.
  constexpr std::size_t few = 8;
  std::array<State, few> few_states{};
  std::array<std::uint8_t, few> few_present{};
  std::vector<State> many_states;
  std::vector<std::uint8_t> many_present;
  const auto operands = node.operands();
  std::span<State> states(few_states);
  std::span<std::uint8_t> present(few_present);
  if (operands.size() > few) {
    many_states.resize(operands.size());
    many_present.resize(operands.size());
    states = many_states;
    present = many_present;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    present[i] = operands[i].is_absent() ? 0 : 1;
    states[i] = operands[i].is_absent() ? State::Unquantized : context.state(operands[i]);
  }
  states = states.first(operands.size());
  present = present.first(operands.size());
  for (const ParentsPattern& pattern : alternatives) {
    if (pattern.matches(states, present)) return {eligible_state()};
  }
  return {State::Unquantized};
}

Expected<void> QuantizationMethod::rewriter(NodeRef /*node*/, RewriteContext& /*context*/) const {
  return {};
}

}  // namespace quadrant::inline v0
