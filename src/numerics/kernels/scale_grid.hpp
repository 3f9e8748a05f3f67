// What many scales are worth for a few values, and between which of them a better one may lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quadrant::inline v0::kernels {

/// Codes from -below to above, as seen from the zero point.
struct CodeDistances {
  float below = 0;
  float above = 0;
};

/// Scales of a grid, and what is known of them.
struct ScaleGrid {
  static constexpr std::size_t most_scales = 32;
  static constexpr std::size_t most_values = 256;  ///< that all of this is for

  std::size_t count = most_scales;  ///< or half of it
  std::array<float, most_scales + 1> scales{};
  std::array<float, most_scales + 1> slopes{};  ///< gains by their scales
  std::array<float, most_scales> bounds{};      ///< of the interval from each to the next: one less
};

/// Fills the first `count` of a grid from `least` to `most`, both positive, closer together at the
/// lower end. The gain of a scale s is s (2 A - s B) of A = sum w q, B = sum q^2, where values w
/// have the nearest codes q: sum w^2 minus the squared error. No scale in an interval gains more
/// than its bound; see ScaleSearch for why that is the top of the parabola through both ends and
/// the origin. Float32 rounds all of it by at most 4 (values + 8) 2^-24 sum w^2. Values lie near 1.
/// From the scale `clipping` on every value is nearest to a code of those, in float32, too. Nothing
/// is fused, and sums have one order: the same numbers on every processor.
///
/// Bit i of the result: interval i may hold a scale that gains more than `known` and than all of
/// the grid, as far as can be told when gains and bounds are off by `margin`.
std::uint32_t look_at_scales(const float* values, std::size_t count, float least, float most,
                             CodeDistances codes, float clipping, float known, float margin,
                             ScaleGrid& grid);

/// What changes between two scales.
struct ScaleEnds {
  double a = 0;             ///< sum w q at the higher one
  double b = 0;             ///< sum q^2 at the higher one
  std::size_t changed = 0;  ///< how many values have another code at the lower one
};

/// Finds the nearest codes at both scales, and writes the indices of values that have another one
/// at the lower: `changed` has room for all, and so have the codes. Sums as squared_error's.
ScaleEnds codes_at_ends(const float* values, std::size_t count, float low, float high,
                        CodeDistances codes, float* low_codes, float* high_codes,
                        std::uint32_t* changed);

/// Multiplies by a power of 2 that leaves every value exact; the sum of the products' squares.
double scale_values(const float* values, std::size_t count, double factor, float* scaled);

}  // namespace quadrant::inline v0::kernels
