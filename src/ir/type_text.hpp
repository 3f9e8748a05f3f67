// Types as text, with a choice of how much of them is shown.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::detail {

/// Scales and zero points that are in memory and at most `largest` are printed, others are `{...}`.
[[nodiscard]] std::string print_type(const TensorType& type, std::int64_t largest);
[[nodiscard]] std::string print_type(const UniformType& type, std::int64_t largest);
[[nodiscard]] std::string print_type(const Quantization& quantization, std::int64_t largest);

}  // namespace quadrant::inline v0::detail
