// What a scale and a zero point cost.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// Sum of (w - s q)^2 over finite values w, q being quantize_value's code as seen from the zero
/// point, between `lowest` <= 0 and `highest` >= 0, which are integers of at most 17 bits. Every
/// eighth square is added to the same of eight sums, those then in pairs: the same on all
/// processors.
[[nodiscard]] double squared_error(const float* values, std::size_t count, float scale,
                                   float lowest, float highest) noexcept;

}  // namespace quadrant::inline v0::kernels
