// Biases of convolutions and products.
#pragma once

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

/// The tensor of a bias `[channels]` of an operator that reads `data` and `weights`: zeros where
/// `bias` is absent. Where the operator computes on codes, the bias has their product's scales and
/// is quantized anew if it has others.
[[nodiscard]] TensorId bias_of(Lowering& lowering, const NodeRef& node, Value data, Value weights,
                               Value bias, std::int64_t channels);

}  // namespace quadrant::inline v0::tflite
