// What a part of a decision is worth, so that of two decisions one is always better.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

/// A gain, and a number that tells decisions of equal gain apart, whatever order they are compared
/// in. Additions saturate; what is impossible stays so.
struct Worth {
  Gain gain;
  std::int64_t tie = 0;

  [[nodiscard]] static constexpr Worth impossible() noexcept {
    return {Gain{std::numeric_limits<std::int64_t>::min()}, 0};
  }
  [[nodiscard]] constexpr bool is_possible() const noexcept {
    return gain.amount() != std::numeric_limits<std::int64_t>::min();
  }

  friend constexpr Worth operator+(Worth a, Worth b) noexcept {
    if (!a.is_possible() || !b.is_possible()) return impossible();
    constexpr Gain least{std::numeric_limits<std::int64_t>::min() + 1};
    const Gain sum = a.gain + b.gain;
    return {sum < least ? least : sum, a.tie + b.tie};
  }
  constexpr Worth& operator+=(Worth other) noexcept { return *this = *this + other; }
  friend constexpr auto operator<=>(const Worth&, const Worth&) = default;
};

}  // namespace quadrant::inline v0
