// How well a detector finds what is there: mean average precision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quadrant::inline v0 {

/// Corners: x1 <= x2, y1 <= y2, in any unit.
struct Box {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Area of the intersection by that of the union; 0 for boxes without area.
[[nodiscard]] double intersection_over_union(const Box& a, const Box& b) noexcept;

/// An object that is there (its score means nothing), or that a model says is there.
struct Detection {
  std::size_t sample = 0;
  std::int64_t label = 0;
  double score = 0;
  Box box;
};

/// Of those of a sample and label that overlap by more than `overlap`, the one of the highest score
/// stays (greedy non-maximum suppression; of equal scores, the first). Keeps the order.
[[nodiscard]] std::vector<Detection> suppress_overlaps(std::span<const Detection> detections,
                                                       double overlap);

/// Average precision of all labels' detections whose overlap with an object is at least `overlap`:
/// in the order of their scores (equal ones: as given), each takes the free object of its sample
/// and label that it overlaps most, or is false. Precision is made monotone and averaged at the 101
/// recalls 0, 0.01, ..., 1, and then over the labels that objects have (Lin et al., "Microsoft
/// COCO: Common Objects in Context", arXiv 1405.0312; its evaluation code's rule, without areas and
/// crowds and without a limit of detections). 0 where there are no objects.
[[nodiscard]] double mean_average_precision(std::span<const Detection> objects,
                                            std::span<const Detection> detections, double overlap);

/// The mean of that over overlaps 0.5, 0.55, ..., 0.95.
[[nodiscard]] double mean_average_precision(std::span<const Detection> objects,
                                            std::span<const Detection> detections);

}  // namespace quadrant::inline v0
