// Codes of float16 weights stand for numbers that float16 has.
#pragma once

#include <span>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Scales fit whole groups, so the code nearest to 65504 may stand for more, which float16 rounds
/// to infinity. Such codes become those that are nearest among the others. By how much the squared
/// error has grown, each element's times its weight, if there are weights: 0 where there were no
/// such codes. `impossible` where an element has no other code.
[[nodiscard]] Expected<double> keep_within_float16(std::span<const float> real,
                                                   std::span<const float> weights,
                                                   const Shape& shape, const NumberFormat& format,
                                                   Encoded& encoded);

}  // namespace quadrant::inline v0
