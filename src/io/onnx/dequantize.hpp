// How quantized types are said in ONNX.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/ops/codes.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// The opset whose DequantizeLinear has `block_size`, and knows 4 and 16 bits.
inline constexpr std::int64_t opset_blocked = 21;

inline constexpr std::string_view linear_kind = ops::DequantizeLinear::kind;

/// `quantize`, `dequantize` or `storage_cast`.
[[nodiscard]] bool is_conversion(std::string_view kind) noexcept;

struct Lowered {
  std::int64_t opset_read = 0;
  std::int64_t opset_written = 0;
  std::int64_t unsigned_activations = 0;  ///< values of int8 whose codes are written as uint8
  // How many `dequantize` became ...
  std::int64_t linear = 0;      ///< DequantizeLinear
  std::int64_t microsoft = 0;   ///< com.microsoft.DequantizeLinear
  std::int64_t arithmetic = 0;  ///< Cast, (Sub,) Mul
  /// What was written instead of DequantizeLinear, and why; empty where nothing was.
  std::string fallback_reason;
};

/// Replaces `quantize`, `dequantize` and `storage_cast` by operators of ONNX, with initializers for
/// scales and zero points. Where DequantizeLinear needs a later opset (13 for an axis, 21 for
/// blocks, 4 and 16 bits), the model is converted to it first; where that is not possible, other
/// operators say the same. Throws `impossible` for a `quantize` that the opset cannot say.
[[nodiscard]] Lowered lower_quantization(Graph& graph);

}  // namespace quadrant::inline v0::onnx
