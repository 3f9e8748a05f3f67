// The scale and the zero point of least squared error for a group of values.
#pragma once

#include <span>

#include "numerics/scale_rule.hpp"
#include "numerics/scale_search.hpp"

namespace quadrant::inline v0 {

/// Clip::mse: the best of what ScaleSearch finds, absmax and minmax, as float32 and as stored.
///
/// One search a thread; it keeps its memory from one group to the next.
class ClipSearch {
 public:
  /// `rule` has been checked.
  explicit ClipSearch(const ScaleRule& rule) : rule_(rule) {}

  /// For finite `values`, of any number.
  [[nodiscard]] GroupParameters best(std::span<const float> values);

 private:
  ScaleRule rule_;
  ScaleSearch search_;
};

}  // namespace quadrant::inline v0
