// How far an approximation is from what it approximates.
#pragma once

#include <memory>
#include <span>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Signal-to-quantization-noise ratio in decibels: 10 log10(sum s^2 / sum (s - a)^2), summed in
/// double. Equal spans (empty ones too) give +infinity, a zero signal with noise -infinity. Spans
/// of equal size.
///
///   sqnr_db({3, 4}, {3, 3.5})  ->  10 log10(25 / 0.25) = 20
[[nodiscard]] double sqnr_db(std::span<const float> signal, std::span<const float> approximation);

/// The same between a float constant and its quantized form, read piece by piece. Errors are those
/// of quantized() and of reading. `real` is read twice.
[[nodiscard]] Expected<double> weight_sqnr_db(const Constant& real,
                                              const std::shared_ptr<const UniformType>& type);

}  // namespace quadrant::inline v0
