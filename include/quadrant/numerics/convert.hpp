// Whole constants between real values and codes, computed when they are read.
#pragma once

#include <cstddef>
#include <span>

#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/rounding.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// `real` (any float type) quantized by `type`, as a constant of the storage type. Its contents are
/// computed when they are read, any part at a time, with at most 512 KiB of memory for each read;
/// several threads may read. `rounding` says how each element is rounded; float64 is rounded to
/// float32 first.
///
///   {0.5, 1.5, -400} by i8<-127:127>, scale 1  ->  i8 {0, 2, -127}
///
/// In a format that is not uniform, each element becomes the code of what is nearest, whatever
/// `rounding` says. Floats are what a cast makes of value / scale, both in float32: to nearest,
/// ties to even, within the finite ones (ONNX QuantizeLinear with `saturate`); NaN becomes NaN. In
/// other formats NaN is as 0.
///
/// `quantization`: not none.
///
/// Scales and zero points are read and checked right away, but where the scales are deferred and
/// more than 16,384: then as they are needed, by those who read. `impossible`, with a message that
/// names it: a storage type of more than 16 bits, a granularity that does not fit the shape, scales
/// that are zero or not finite, zero points outside the range of codes.
[[nodiscard]] Expected<Constant> quantized(
    const Constant& real, const Quantization& quantization,
    const RoundingProfile& rounding = RoundingProfile::onnx());

/// The real values of `codes`, as float32: dequantize_value of each, or, of a format that is not
/// uniform, what `decode` of encode.hpp says. The rest is as above.
///
///   i8 {0, 2, -127} of scale 0.5, zero point 1  ->  f32 {-0.5, 0.5, -64}
[[nodiscard]] Expected<Constant> dequantized(const Constant& codes,
                                             const Quantization& quantization);

/// Widens `bytes`, little-endian elements of a float type, into `out`, which has room for all.
/// Float64 is rounded; values beyond float32's range become infinite. `bytes` may lie anywhere.
void widen_to_float(ElementType element, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace quadrant::inline v0
