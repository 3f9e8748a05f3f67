// Quantization said in operations that OpenVINO takes literally.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::openvino {

/// Replaces `quantize` by a division, a rounding, a sum, a clip and a cast. As QuantizeLinear it
/// would become OpenVINO's FakeQuantize, which adds the zero point before it rounds (ties go the
/// other way when that is odd), and whose results differ when it is fused; pairs of 16 bits it
/// removes altogether. For scales of a tensor or an axis and codes of 4 to 16 bits, from opset 11
/// on; what else there is stays.
///
/// Replaces `dequantize` of a weight whose last blocks are shorter than the others, which OpenVINO
/// refuses, by its float values; they are computed when they are written.
///
/// Errors are those of reading scales and zero points.
[[nodiscard]] Expected<void> use_plain_quantization(Graph& graph);

}  // namespace quadrant::inline v0::openvino
