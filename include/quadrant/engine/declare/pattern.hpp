// Which states a node's parents must be in for the node to take part: the declarative half of
// phase 1.
//
//   requires_parents(AnyQuantizable | AnyConsumer, AnyUnquantized, or_absent(AnyUnquantized))
//   requires_parents(variadic(AnyQuantizable))     // a concat: one operand or more
//
// Patterns are values: constexpr, comparable, printable.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quadrant/engine/declare/state.hpp"

namespace quadrant::inline v0 {

/// The states one operand may be in.
struct OperandPattern {
  std::uint8_t accepted = 0;  ///< a bit for each State
  bool is_optional = false;   ///< an absent operand matches too
  bool is_variadic = false;   ///< the last matcher: all operands that are left, one or more

  [[nodiscard]] constexpr bool accepts(State state) const noexcept {
    return ((accepted >> static_cast<unsigned>(state)) & 1U) != 0;
  }
  /// Either of two.
  friend constexpr OperandPattern operator|(OperandPattern a, OperandPattern b) noexcept {
    return {static_cast<std::uint8_t>(a.accepted | b.accepted), a.is_optional || b.is_optional,
            a.is_variadic || b.is_variadic};
  }
  friend constexpr bool operator==(OperandPattern, OperandPattern) = default;
};

namespace detail {
constexpr std::uint8_t bit(State state) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(state));
}
}  // namespace detail

// One for each state. AnyQuantized matches what came quantized with the model; the output of a
// Consumer is float and so satisfies AnyUnquantized.
inline constexpr OperandPattern AnyQuantizable{detail::bit(State::Quantizable)};
inline constexpr OperandPattern AnyQuantized{
    static_cast<std::uint8_t>(detail::bit(State::Quantized) | detail::bit(State::ToQuantize))};
inline constexpr OperandPattern AnyUnquantized{
    static_cast<std::uint8_t>(detail::bit(State::Unquantized) | detail::bit(State::Consumer))};
inline constexpr OperandPattern AnyConsumer{detail::bit(State::Consumer)};
/// Whatever state: the operand plays no part in the decision.
inline constexpr OperandPattern AnyState =
    AnyQuantizable | AnyQuantized | AnyUnquantized | AnyConsumer;

/// Matches an absent operand as well.
[[nodiscard]] constexpr OperandPattern or_absent(OperandPattern pattern) noexcept {
  return {pattern.accepted, true, pattern.is_variadic};
}

[[deprecated(
    "or_absent: `optional` is ambiguous beside std's")]] [[nodiscard]] constexpr OperandPattern
optional(OperandPattern pattern) noexcept {
  return or_absent(pattern);
}

/// Matches one operand or more, as the last matcher: each of them must match `pattern`. With
/// `or_absent` inside, absent ones do, and there may be none.
[[nodiscard]] constexpr OperandPattern variadic(OperandPattern pattern) noexcept {
  return {pattern.accepted, pattern.is_optional, true};
}

/// One matcher per operand, in order. Operands beyond the last matcher do not match, unless it is
/// `variadic(...)`; absent ones match `or_absent(...)` alone.
struct ParentsPattern {
  static constexpr std::size_t capacity = 8;
  std::array<OperandPattern, capacity> operands{};
  std::size_t size = 0;

  /// `states[i]` is the state of operand i; `present[i]` is 0 where it is absent.
  [[nodiscard]] bool matches(std::span<const State> states,
                             std::span<const std::uint8_t> present) const noexcept;
  /// The operands that do not match.
  [[nodiscard]] std::vector<std::size_t> mismatches(std::span<const State> states,
                                                    std::span<const std::uint8_t> present) const;
  friend constexpr bool operator==(const ParentsPattern&, const ParentsPattern&) = default;
};

namespace detail {
// Not constexpr: a pattern that gets here does not compile, and the message holds this name.
void only_the_last_operand_pattern_may_be_variadic();
}  // namespace detail

template <class... Patterns>
[[nodiscard]] constexpr ParentsPattern requires_parents(Patterns... patterns) noexcept {
  static_assert(
      (std::same_as<Patterns, OperandPattern> && ...),
      "requires_parents takes operand patterns: AnyQuantizable, or_absent(AnyState), ...");
  static_assert(sizeof...(patterns) <= ParentsPattern::capacity,
                "requires_parents takes at most eight operand patterns");
  const ParentsPattern parents{{patterns...}, sizeof...(patterns)};
  for (std::size_t i = 0; i + 1 < parents.size; ++i) {
    if (parents.operands[i].is_variadic) detail::only_the_last_operand_pattern_may_be_variadic();
  }
  return parents;
}

[[nodiscard]] std::string to_string(OperandPattern pattern);
[[nodiscard]] std::string to_string(const ParentsPattern& pattern);

}  // namespace quadrant::inline v0
