// A quantized type's scales and zero points, read and checked.
#pragma once

#include <cstdint>
#include <vector>

#include "numerics/groups.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What the arithmetic needs of a UniformType whose storage has at most 16 bits: everything fits a
/// float exactly.
struct Parameters {
  Groups groups;
  std::vector<float> scales;              ///< one for each group, finite and not 0
  std::vector<std::int32_t> zero_points;  ///< one for each group
  std::int32_t storage_min = 0;
  std::int32_t storage_max = 0;

  /// `impossible` when `type` does not fit tensors of `shape`, or is not supported.
  [[nodiscard]] static Expected<Parameters> read(const UniformType& type, const Shape& shape);
};

}  // namespace quadrant::inline v0
