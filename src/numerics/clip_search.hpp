// The scale and the zero point of least squared error for a group of values.
#pragma once

#include <cstdint>
#include <span>

#include "numerics/scale_rule.hpp"
#include "numerics/scale_search.hpp"
#include "numerics/small_scale_search.hpp"

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
  void consider(const GroupParameters& other);
  void search_scales(const CodeRange& codes, double sign);
  void search_zero_points();
  [[nodiscard]] std::int64_t steps() const noexcept {
    return rule_.storage_max - rule_.storage_min;
  }
  [[nodiscard]] double reach() const noexcept;

  ScaleRule rule_;
  // Of the group at hand.
  std::span<const float> values_;
  ValueRange range_;
  GroupParameters best_;
  double error_ = 0;
  bool is_small_ = false;

  ScaleSearch search_;
  SmallScaleSearch small_search_;  ///< where values and codes are few
};

}  // namespace quadrant::inline v0
