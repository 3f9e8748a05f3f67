#include "quadrant/report/weight_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrant::inline v0 {
namespace {

struct FiniteRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(std::span<const float> values) {
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, static_cast<double>(value));
      high = std::max(high, static_cast<double>(value));
    }
  }
};

WeightHistogram::Bins bins_of(std::span<const float> values, double low, double high) {
  WeightHistogram::Bins bins{};
  const double width = (high - low) / static_cast<double>(WeightHistogram::bin_count);
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0 ? (static_cast<double>(value) - low) / width : 0;
    ++bins[std::min(static_cast<std::size_t>(place), WeightHistogram::bin_count - 1)];
  }
  return bins;
}

}  // namespace

WeightHistogram count_weight(std::span<const float> before,
                             std::optional<std::span<const float>> after) {
  FiniteRange range;
  range.add(before);
  if (after) range.add(*after);
  WeightHistogram histogram;
  histogram.non_finite = static_cast<std::uint64_t>(
      std::ranges::count_if(before, [](float value) { return !std::isfinite(value); }));
  if (range.low > range.high) return histogram;
  histogram.low = range.low;
  histogram.high = range.high;
  histogram.before = bins_of(before, range.low, range.high);
  if (after) histogram.after = bins_of(*after, range.low, range.high);
  return histogram;
}

}  // namespace quadrant::inline v0
