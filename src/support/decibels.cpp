#include "support/decibels.hpp"

#include <cmath>
#include <limits>

namespace quadrant::inline v0 {

double decibels_of(double relative_noise) noexcept {
  return relative_noise > 0 ? -10 * std::log10(relative_noise)
                            : std::numeric_limits<double>::infinity();
}

double relative_noise_of(double decibels) noexcept { return std::pow(10.0, -decibels / 10); }

}  // namespace quadrant::inline v0
