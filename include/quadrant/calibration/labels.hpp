// What is known of samples: classes, and objects in pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/calibration/detections.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Classes, one for each row of scores of all samples, in order: a text file with an integer a line
/// (lines that begin with '#' are passed over), a .npy of integers, or a .npz that holds one array
/// of integers, or one named `labels` or `y`. `invalid_model` for another file.
[[nodiscard]] Expected<std::vector<std::int64_t>> read_labels(const std::string& path);

/// Objects: a .npz with arrays `boxes` [n, 4] (x1, y1, x2, y2), `classes` [n] and `samples` [n],
/// the number of the image, counted from 0, that each is in. `invalid_model` for another file.
[[nodiscard]] Expected<std::vector<Detection>> read_objects(const std::string& path);

}  // namespace quadrant::inline v0
