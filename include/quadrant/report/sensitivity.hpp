// A sensitivity study for people.
#pragma once

#include <span>
#include <string>

#include "quadrant/calibration/sensitivity.hpp"

namespace quadrant::inline v0 {

/// A table of layers in the given order, with the output that suffers most.
[[nodiscard]] std::string to_string(std::span<const LayerSensitivity> layers);

}  // namespace quadrant::inline v0
