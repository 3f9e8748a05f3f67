// A histogram of values as a picture inside a page.
#pragma once

#include <optional>
#include <string>

#include "quadrant/report/summary.hpp"

namespace quadrant::inline v0 {

/// An `svg` element: float values upwards, what codes stand for downwards, each half as high as its
/// fullest bin; what is outside of `range`, where there are codes, is shaded. Classes are those of
/// page.css.
[[nodiscard]] std::string draw_histogram(const ValueHistogram& histogram,
                                         const std::optional<RealInterval>& range = {});

}  // namespace quadrant::inline v0
