// `fake_quantize`, which is OpenVINO's, in operators that ONNX has.
#pragma once

#include <cstdint>

#include "quadrant/io/onnx.hpp"

namespace quadrant::inline v0::onnx {

/// How many `fake_quantize` became ...
struct LoweredFakeQuantize {
  std::int64_t linear = 0;      ///< `quantize` and `dequantize`
  std::int64_t arithmetic = 0;  ///< elementary operators
};

/// Replaces each `fake_quantize`:
///
///  - by `quantize` and `dequantize`, whose levels are the same but for float32 rounding, if input
///    and output bounds are the same constants, one pair for all of X or one for each index along
///    an axis, with at most 256 levels, of which zero is one, and X is not float64. In the middle
///    of two levels QuantizeLinear, which rounds half to even before it adds the zero point, may
///    take the other one;
///  - else, and by the form `elementary`, by the operators of
///  numerics/elementary_fake_quantize.hpp;
///  - by the form `openvino` not at all, if bounds go with X by numpy's rules.
///
/// The model is converted to opset 13 for it, if need be; throws `impossible` where that cannot be.
LoweredFakeQuantize lower_fake_quantize(Graph& graph, FakeQuantizeForm form);

}  // namespace quadrant::inline v0::onnx
