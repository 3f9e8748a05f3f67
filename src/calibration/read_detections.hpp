// From a detector's outputs to detections.
#pragma once

#include <cstddef>
#include <vector>

#include "quadrant/calibration/compare.hpp"

namespace quadrant::inline v0 {

/// Appends what `boxes` and `scores` say is there, overlaps suppressed, under sample numbers from
/// `first_sample` on, and returns how many images there were, those without boxes too. `usage` for
/// shapes that are not those of DetectionOutputs.
[[nodiscard]] Expected<std::size_t> read_detections(const Tensor& boxes, const Tensor& scores,
                                                    const DetectionOutputs& how,
                                                    std::size_t first_sample,
                                                    std::vector<Detection>& detections);

}  // namespace quadrant::inline v0
