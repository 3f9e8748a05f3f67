// The floats that constants stand for.
#pragma once

#include <memory>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::tflite {

/// Of codes of `quantization`, or of numbers where it is null. Codes of 32 bits, as biases have,
/// need more than a float holds.
[[nodiscard]] std::vector<double> reals_of(const Constant& constant,
                                           const std::shared_ptr<const UniformType>& quantization);

}  // namespace quadrant::inline v0::tflite
