// What methods that look at all values are given: sorted, each with how often it occurs.
#pragma once

#include <span>
#include <vector>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

struct Distribution {
  std::span<const WeightedValue> values;  ///< ascending, finite
  double min = 0;  ///< the true ends, which a histogram's values need not reach
  double max = 0;
};

/// Finite values from several groups, one group after another.
class SortedValues {
 public:
  /// Valid until the next call.
  [[nodiscard]] Distribution of(std::span<const float> values);

 private:
  std::vector<float> sorted_;
  std::vector<WeightedValue> counted_;
};

}  // namespace quadrant::inline v0
