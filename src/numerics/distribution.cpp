#include "numerics/distribution.hpp"

#include <algorithm>

namespace quadrant::inline v0 {

Distribution SortedValues::of(std::span<const float> values) {
  sorted_.assign(values.begin(), values.end());
  std::ranges::sort(sorted_);
  counted_.clear();
  counted_.reserve(sorted_.size());
  for (const float value : sorted_) {
    const auto real = static_cast<double>(value);
    if (counted_.empty() || counted_.back().value != real) counted_.push_back({real, 0});
    ++counted_.back().count;
  }
  if (counted_.empty()) return {};
  return {counted_, counted_.front().value, counted_.back().value};
}

}  // namespace quadrant::inline v0
