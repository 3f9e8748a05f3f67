// `fake_quantize`, which is OpenVINO's, in operators that ONNX has.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"

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
///    an axis, with at most 256 levels, of which zero is one, and X is not float64. A number in the
///    middle of two levels may go to the other one: QuantizeLinear rounds half to even before it
///    adds the zero point. A NaN becomes a number;
///  - else by elementary operators in the order of numerics/fake_quantize.hpp: the same bits.
///
/// The model is converted to opset 13 for it, if need be; throws `impossible` where that cannot be.
/// `keep`: those stay whose bounds go with X as OpenVINO's operator in ONNX reads them, by numpy's
/// rules.
LoweredFakeQuantize lower_fake_quantize(Graph& graph, bool keep);

}  // namespace quadrant::inline v0::onnx
