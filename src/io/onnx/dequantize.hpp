// How quantized types are said in ONNX.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

struct Lowered {
  std::int64_t opset_read = 0;
  std::int64_t opset_written = 0;
  std::string fallback_reason;  ///< why Cast and Mul; empty when they were not needed
};

/// Replaces `quantize`, `dequantize` and `storage_cast` by operators of ONNX, with initializers for
/// scales and zero points, converting the model to opset 13 first where that is needed and
/// possible. Throws `impossible` for what its opset cannot say.
[[nodiscard]] Lowered lower_quantization(Graph& graph);

}  // namespace quadrant::inline v0::onnx
