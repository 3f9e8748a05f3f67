// Elements of one type as elements of another.
#pragma once

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

/// `x` with elements of type `to`, as ONNX's Cast: reals to integers towards zero, integers to
/// narrower ones modulo their range, to float16 and bfloat16 through float32 and rounded to nearest
/// even. Reals outside of an integer type of 8 bits or more saturate and NaN becomes 0, where ONNX
/// leaves that open; 4-bit integers are the lower half of 8-bit ones.
[[nodiscard]] Expected<Tensor> cast_to(const Tensor& x, ElementType to);

}  // namespace quadrant::inline v0::interpreted
