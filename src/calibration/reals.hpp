// Numbers of any type, to measure with.
#pragma once

#include <vector>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The elements as doubles: exact, but for 64-bit integers beyond 2^53. `impossible` for types that
/// are no numbers; booleans are 0 and 1.
[[nodiscard]] Expected<std::vector<double>> to_doubles(const Tensor& tensor);

}  // namespace quadrant::inline v0
