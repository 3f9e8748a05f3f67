// The floats that constants stand for.
#pragma once

#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::tflite {

/// Of codes of `quantization`, or of numbers where it is none.
[[nodiscard]] std::vector<double> reals_of(const Constant& constant,
                                           const Quantization& quantization);

}  // namespace quadrant::inline v0::tflite
