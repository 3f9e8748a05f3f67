// A Comparison for people.
#pragma once

#include <string>

#include "quadrant/calibration/compare.hpp"

namespace quadrant::inline v0 {

/// Tables: outputs, layers (the worst first, all of them), classes, detections.
[[nodiscard]] std::string to_string(const Comparison& comparison);

}  // namespace quadrant::inline v0
