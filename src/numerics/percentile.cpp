#include "numerics/percentile.hpp"

#include <algorithm>
#include <cmath>

namespace quadrant::inline v0 {
namespace {

// The first value that is not left out, when `left_out` are, in the order of `values`.
template <class Iterator>
double first_kept(Iterator value, double left_out) {
  while (left_out >= static_cast<double>(value->count)) {
    left_out -= static_cast<double>(value->count);
    ++value;
  }
  return value->value;
}

}  // namespace

RealRange percentile_range(const Distribution& distribution, double percentile) {
  double count = 0;
  for (const WeightedValue& value : distribution.values) count += static_cast<double>(value.count);
  // 99.9 has no double of its own: a tenth of a percent of 1000 values shall be one of them.
  constexpr double nearly = 1 + 1e-9;
  const double left_out =
      std::min(std::floor(count * (100 - percentile) / 100 * nearly), std::floor((count - 1) / 2));
  if (left_out <= 0) return {distribution.min, distribution.max};
  return {first_kept(distribution.values.begin(), left_out),
          first_kept(distribution.values.rbegin(), left_out)};
}

}  // namespace quadrant::inline v0
