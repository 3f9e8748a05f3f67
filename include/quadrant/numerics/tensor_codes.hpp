// What a model is run on, between real values and codes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quadrant/ir/tensor.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/rounding.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The codes of `real`, a tensor of any float type: a tensor of the storage type. Per tensor, axis
/// or block, as the type says; each element by quantize_value of `rounding`, float64 rounded to
/// float32 first. Infinities saturate, NaN becomes the zero point. Of a format that is not uniform,
/// what quantized() says. `quantization`: not none.
///
/// Errors are those of quantized() (convert.hpp). May be called from any thread.
[[nodiscard]] Expected<Tensor> quantize_tensor(
    const Tensor& real, const Quantization& quantization,
    const RoundingProfile& rounding = RoundingProfile::onnx());

/// The real values of `codes`, of the type's storage, as float32: dequantize_value of each.
[[nodiscard]] Expected<Tensor> dequantize_tensor(const Tensor& codes,
                                                 const Quantization& quantization);

/// The same for values that lie in some memory of yours, row by row; `shape` has as many elements.
///
///   {-1.8, -1, 0, 0.5}, [4], uint8 of scale 0.00901961, zero point 200, snpe()
///     ->  {0, 89, 200, 255}
///
/// `impossible` as well for a shape of another size.
[[nodiscard]] Expected<std::vector<std::int32_t>> quantize_values(
    std::span<const float> real, const Shape& shape, const UniformType& type,
    const RoundingProfile& rounding = RoundingProfile::onnx());

/// `impossible` as well for codes that the storage type does not hold.
[[nodiscard]] Expected<std::vector<float>> dequantize_values(std::span<const std::int32_t> codes,
                                                             const Shape& shape,
                                                             const UniformType& type);

}  // namespace quadrant::inline v0
