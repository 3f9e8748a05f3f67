// Constants of floats, to compute with in double precision.
#pragma once

#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Float32 and float64: the types in which a number that is rounded anew stays within 1e-5 of what
/// it was.
[[nodiscard]] bool is_wide_float(ElementType element) noexcept;

/// The elements of a constant of any float type, all exact. `impossible` for another type; else it
/// fails where reading the constant does. Several threads may read.
[[nodiscard]] Expected<std::vector<double>> read_reals(const Constant& constant);

/// What codes of a type, which is not none, stand for: exact for those of 32 bits, too, which
/// biases have and a float does not hold, times scales in single precision. `impossible` for what
/// `dequantized` refuses.
[[nodiscard]] Expected<std::vector<double>> read_reals(const Constant& codes,
                                                       const Quantization& quantization);

/// `values`, each rounded once to `element`, as a constant of `shape`, which has as many elements.
/// `element` is a wide float, or one of 16 bits, to which float32 is rounded.
[[nodiscard]] Constant rounded_constant(ElementType element, Shape shape,
                                        std::span<const double> values);

/// Whether all `values` are finite once they are rounded to `element`, a wide float.
[[nodiscard]] bool are_finite(ElementType element, std::span<const double> values);

}  // namespace quadrant::inline v0
