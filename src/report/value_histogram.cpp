#include <algorithm>
#include <cmath>
#include <limits>

#include "quadrant/report/summary.hpp"

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

void count(const ValueHistogram& histogram, std::span<const float> values,
           ValueHistogram::Bins& bins) {
  for (const float value : values) {
    if (std::isfinite(value)) ++bins[histogram.bin_of(static_cast<double>(value))];
  }
}

}  // namespace

std::size_t ValueHistogram::bin_of(double value) const noexcept {
  const double width = (high - low) / static_cast<double>(bin_count);
  const double place = width > 0 ? (value - low) / width : 0;
  return std::min(static_cast<std::size_t>(place), bin_count - 1);
}

ValueHistogram count_values(std::span<const float> before,
                            std::optional<std::span<const float>> after) {
  FiniteRange range;
  range.add(before);
  if (after) range.add(*after);
  ValueHistogram histogram;
  histogram.non_finite = static_cast<std::uint64_t>(
      std::ranges::count_if(before, [](float value) { return !std::isfinite(value); }));
  if (range.low > range.high) return histogram;
  histogram.low = range.low;
  histogram.high = range.high;
  count(histogram, before, histogram.before);
  if (after) count(histogram, *after, histogram.after.emplace());
  return histogram;
}

}  // namespace quadrant::inline v0
