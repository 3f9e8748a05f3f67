// From a range, or a scale and a zero point, to an encoding: see encoding.hpp for the
// formulas.
#pragma once

#include <cstdint>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

/// Both ends finite, min <= max.
struct RealRange {
  double min = 0;
  double max = 0;
};

/// Codes minus one.
[[nodiscard]] std::int64_t steps_of(const EncodingRule& rule) noexcept;

/// What `rule` gives, a checked one, where no more is known: minmax or adjusted_weights.
[[nodiscard]] Encoding encoding_of(const RealRange& range, const EncodingRule& rule) noexcept;

/// The one whose ends are those of `range`.
[[nodiscard]] Encoding encoding_with_ends(const RealRange& range,
                                          const EncodingRule& rule) noexcept;

[[nodiscard]] Encoding encoding_of(double scale, std::int64_t zero_point,
                                   const EncodingRule& rule) noexcept;

}  // namespace quadrant::inline v0
