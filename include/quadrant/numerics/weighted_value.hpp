// A value and how often it occurs.
#pragma once

#include <cstdint>

namespace quadrant::inline v0 {

struct WeightedValue {
  double value = 0;
  std::uint64_t count = 0;
  friend bool operator==(const WeightedValue&, const WeightedValue&) = default;
};

}  // namespace quadrant::inline v0
