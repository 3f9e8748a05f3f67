// How well two tensors agree.
#pragma once

#include <string_view>

#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Adds their numbers, of whatever types, to `agreement`. `impossible`, naming the value `name`,
/// when their shapes differ.
[[nodiscard]] Expected<void> measure_agreement(std::string_view name, const Tensor& signal,
                                               const Tensor& approximation, Agreement& agreement);

}  // namespace quadrant::inline v0
