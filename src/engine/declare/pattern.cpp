#include <algorithm>
#include <string_view>

#include "quadrant/engine/declare/constraint.hpp"

namespace quadrant::inline v0 {

namespace {

bool matches_at(const ParentsPattern& pattern, std::size_t at, std::span<const State> states,
                std::span<const std::uint8_t> present) noexcept {
  const bool is_absent = at >= states.size() || present[at] == 0;
  const bool is_open = pattern.size > 0 && pattern.operands[pattern.size - 1].is_variadic;
  // An absent operand that the pattern does not mention does no harm.
  if (at >= pattern.size && !is_open) return is_absent;
  const OperandPattern& operand = pattern.operands[std::min(at, pattern.size - 1)];
  return is_absent ? operand.is_optional : operand.accepts(states[at]);
}

}  // namespace

bool ParentsPattern::matches(std::span<const State> states,
                             std::span<const std::uint8_t> present) const noexcept {
  for (std::size_t i = 0; i < std::max(states.size(), size); ++i) {
    if (!matches_at(*this, i, states, present)) return false;
  }
  return true;
}

std::vector<std::size_t> ParentsPattern::mismatches(std::span<const State> states,
                                                    std::span<const std::uint8_t> present) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < std::max(states.size(), size); ++i) {
    if (!matches_at(*this, i, states, present)) found.push_back(i);
  }
  return found;
}

void detail::only_the_last_operand_pattern_may_be_variadic() {}

std::string to_string(OperandPattern pattern) {
  std::string text;
  const auto add = [&](OperandPattern part, std::string_view name) {
    if ((pattern.accepted & part.accepted) != part.accepted) return;
    if (!text.empty()) text += " | ";
    text += name;
  };
  if (pattern.accepted == AnyState.accepted) {
    text = "AnyState";
  } else {
    add(AnyQuantizable, "AnyQuantizable");
    add(AnyQuantized, "AnyQuantized");
    add(AnyUnquantized, "AnyUnquantized");
    // AnyUnquantized includes it.
    if (!pattern.accepts(State::Unquantized)) add(AnyConsumer, "AnyConsumer");
  }
  if (pattern.is_optional) text = "or_absent(" + text + ")";
  return pattern.is_variadic ? "variadic(" + text + ")" : text;
}

std::string to_string(const ParentsPattern& pattern) {
  std::string text = "(";
  for (std::size_t i = 0; i < pattern.size; ++i) {
    if (i != 0) text += ", ";
    text += to_string(pattern.operands[i]);
  }
  return text + ")";
}

}  // namespace quadrant::inline v0
