// The squared error of a scale and a zero point.
#pragma once

#include <array>
#include <cstddef>

namespace quadrant::inline v0::kernels {

/// Codes as seen from the zero point: integers of at most 17 bits.
struct CodedBy {
  float scale = 1;
  float lowest = 0;   ///< at most 0
  float highest = 0;  ///< at least 0
};

/// Sum of (w - s q)^2 over finite values w, q being quantize_value's code as seen from the zero
/// point. Every eighth square is added to the same of eight sums, those then in pairs: the same on
/// all processors.
[[nodiscard]] double squared_error(const float* values, std::size_t count,
                                   const CodedBy& by) noexcept;

/// The same for two, in less time than one after the other.
[[nodiscard]] std::array<double, 2> squared_errors(const float* values, std::size_t count,
                                                   const std::array<CodedBy, 2>& by) noexcept;

}  // namespace quadrant::inline v0::kernels
