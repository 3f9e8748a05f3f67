// Tensors of float values as tensors of codes, and back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/parameters.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::interpreted {

/// The parameters of a tensor of shape `shape` whose codes are of type `storage`, all of which are
/// in use. `zero_points`: as many as scales, or none. Refuses what does not fit.
[[nodiscard]] Expected<Parameters> affine_parameters(const Shape& shape, ElementType storage,
                                                     const Granularity& granularity,
                                                     std::vector<float> scales,
                                                     std::span<const std::int64_t> zero_points);

/// Codes of type `storage`, an integer of at most 32 bits with a sign or 16 without, by
/// quantize_value. `real` are numbers of any type; those that are no float32 are rounded to that.
[[nodiscard]] Expected<Tensor> quantize_tensor(const Tensor& real, const Parameters& parameters,
                                               ElementType storage);

/// The float values of such codes, by dequantize_value in float32, then rounded to `expressed`.
[[nodiscard]] Expected<Tensor> dequantize_tensor(const Tensor& codes, const Parameters& parameters,
                                                 ElementType expressed);

}  // namespace quadrant::inline v0::interpreted
