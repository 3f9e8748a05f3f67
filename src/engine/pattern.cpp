#include "quadrant/engine/pattern.hpp"

#include <algorithm>
#include <string_view>

namespace quadrant::inline v0 {

int ParentsPattern::first_mismatch(std::span<const State> states,
                                   std::span<const std::uint8_t> present) const noexcept {
  const std::size_t count = std::max(states.size(), size);
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= states.size() || present[i] == 0) {
      // Operands that are not there, at the end or in between.
      if (i < size && operands[i].is_optional) continue;
      if (i >= size) continue;  // an absent operand that the pattern does not mention
      return static_cast<int>(i);
    }
    if (i >= size || !operands[i].accepts(states[i])) return static_cast<int>(i);
  }
  return -1;
}

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
  return pattern.is_optional ? "optional(" + text + ")" : text;
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
