#include "transforms/expected_relu.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quadrant::inline v0 {

double expected_relu(double mean, double deviation) noexcept {
  if (!(deviation > 0)) return std::max(mean, 0.0);
  const double z = mean / deviation;
  const double probability = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  // Far below zero the two terms cancel.
  return std::max(mean * probability + deviation * density, 0.0);
}

}  // namespace quadrant::inline v0
