// A sensitivity study as a part of a page.
#pragma once

#include <span>
#include <string>

#include "quadrant/calibration/sensitivity.hpp"

namespace quadrant::inline v0 {

/// A table of layers in the given order, with a bar for each: of many, the first 2,000.
[[nodiscard]] std::string sensitivity_html(std::span<const LayerSensitivity> layers);

}  // namespace quadrant::inline v0
