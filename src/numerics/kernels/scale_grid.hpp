// What many scales are worth for a few values, and between which of them a better one may lie.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// Codes from -below to above, as seen from the zero point.
struct CodeDistances {
  float below = 0;
  float above = 0;
};

/// The most scales that one call looks at.
inline constexpr std::size_t most_scales = 32;

/// gains[i] becomes s (2 A - s B) of s = scales[i], A = sum w q, B = sum q^2, where values w have
/// the nearest codes q: sum w^2 minus the squared error. Scales are positive and ascending, at most
/// `most_scales`; values lie near 1. Nothing is fused, and sums have one order: the same numbers on
/// every processor.
///
/// bounds[i], for all but the last: what no scale between i and i + 1 gains more than; see
/// ScaleSearch for why that is the parabola through both ends and the origin.
void gains_of_scales(const float* values, std::size_t count, const float* scales,
                     std::size_t scale_count, CodeDistances codes, float* gains, float* bounds);

/// codes[i] becomes the code of values[i] at `scale`.
void nearest_codes(const float* values, std::size_t count, float scale, CodeDistances distances,
                   float* codes);

}  // namespace quadrant::inline v0::kernels
