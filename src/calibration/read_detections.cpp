#include "calibration/read_detections.hpp"

#include <fmt/format.h>

#include "calibration/reals.hpp"

namespace quadrant::inline v0 {

namespace {

Box box_of(const double* numbers, bool centers) {
  if (!centers) return {numbers[0], numbers[1], numbers[2], numbers[3]};
  const double half_width = numbers[2] / 2;
  const double half_height = numbers[3] / 2;
  return {numbers[0] - half_width, numbers[1] - half_height, numbers[0] + half_width,
          numbers[1] + half_height};
}

Expected<void> check_shapes(const Tensor& boxes, const Tensor& scores) {
  const std::int64_t rank = boxes.rank();
  bool fits = rank >= 2 && scores.rank() == rank && boxes.extent(rank - 1) == 4;
  for (std::int64_t axis = 0; fits && axis < rank - 1; ++axis) {
    fits = boxes.extent(axis) == scores.extent(axis);
  }
  if (fits) return {};
  return fail(
      ErrorCode::usage,
      fmt::format("boxes of shape [{}] and scores of shape [{}] are no detections: they are "
                  "[..., n, 4] and [..., n, classes]",
                  to_string(boxes.shape()), to_string(scores.shape())));
}

}  // namespace

Expected<std::size_t> read_detections(const Tensor& boxes, const Tensor& scores,
                                      const DetectionOutputs& how, std::size_t first_sample,
                                      std::vector<Detection>& detections) {
  QUADRANT_CHECK(check_shapes(boxes, scores));
  QUADRANT_TRY(const std::vector<double> corners, to_doubles(boxes));
  QUADRANT_TRY(const std::vector<double> values, to_doubles(scores));
  const std::int64_t axes = boxes.rank() - 2;
  std::size_t images = 1;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    images *= static_cast<std::size_t>(boxes.extent(axis));
  }
  const auto in_image = static_cast<std::size_t>(boxes.extent(axes));
  const auto classes = static_cast<std::size_t>(scores.extent(axes + 1));
  std::vector<Detection> found;
  for (std::size_t i = 0; i < images * in_image; ++i) {
    for (std::size_t label = 0; label < classes; ++label) {
      const double score = values[i * classes + label];
      if (static_cast<std::int64_t>(label) == how.background || !(score >= how.least_score))
        continue;
      found.push_back({first_sample + i / in_image, static_cast<std::int64_t>(label), score,
                       box_of(&corners[i * 4], how.centers)});
    }
  }
  const auto kept = suppress_overlaps(found, how.overlap);
  detections.insert(detections.end(), kept.begin(), kept.end());
  return images;
}

}  // namespace quadrant::inline v0
