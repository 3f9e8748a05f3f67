// The arithmetic of a ScaleRule for one group: see quadrant/numerics/encode.hpp for the formulas.
#pragma once

#include <cstdint>

#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// `impossible` when the range does not fit the storage type, or the rule the range.
[[nodiscard]] Expected<void> check(const ScaleRule& rule);

/// `rule` for weights of that type: no scale is less than the distance between two of its numbers.
[[nodiscard]] ScaleRule rule_for(ElementType weights, const ScaleRule& rule) noexcept;

/// min(w, 0) and max(w, 0) of a group; both finite.
struct ValueRange {
  float min = 0;
  float max = 0;
};

/// Codes as they are seen from a zero point, for a positive scale: lo <= 0 <= hi.
struct CodeRange {
  std::int64_t lo = 0;
  std::int64_t hi = 0;

  [[nodiscard]] bool is_balanced() const noexcept { return -lo == hi; }
  /// The same for a negative scale.
  [[nodiscard]] CodeRange mirrored() const noexcept { return {-hi, -lo}; }
};

struct GroupParameters {
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// The zero point that a rule which is not asymmetric fixes: 0, or the middle of an unsigned type.
[[nodiscard]] std::int64_t fixed_zero_point(const ScaleRule& rule) noexcept;

[[nodiscard]] inline CodeRange codes_around(const ScaleRule& rule,
                                            std::int64_t zero_point) noexcept {
  return {rule.storage_min - zero_point, rule.storage_max - zero_point};
}

/// The least positive scale at which no value is clipped; both ends of `codes` differ from 0.
[[nodiscard]] double containing_scale(const ValueRange& values, const CodeRange& codes) noexcept;

/// Whether float16 holds the value as a normal number.
[[nodiscard]] bool is_normal_half(float value) noexcept;

/// absmax or minmax, whatever `rule.clip` says; `rule` has been checked.
[[nodiscard]] GroupParameters unsearched_parameters(const ScaleRule& rule, Clip clip,
                                                    const ValueRange& values) noexcept;

/// `scale` made usable: rounded to float32; 1, and the code nearest 0 as a free zero point, instead
/// of zero or a subnormal number; and so small that no code of `values` means infinity.
[[nodiscard]] GroupParameters usable(const ScaleRule& rule, const ValueRange& values, double scale,
                                     std::int64_t zero_point) noexcept;

}  // namespace quadrant::inline v0
