// A weight's histogram as a picture inside a page.
#pragma once

#include <string>

#include "quadrant/report/weight_histogram.hpp"

namespace quadrant::inline v0 {

/// An `svg` element: float values upwards, what codes stand for downwards, each half as high as its
/// fullest bin. Classes are those of page.css.
[[nodiscard]] std::string draw_histogram(const WeightHistogram& histogram);

}  // namespace quadrant::inline v0
