// Products with a quantized weight as com.microsoft.MatMulNBits.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0::onnx {

/// Turns each `matmul` and `gemm` of floats with a dequantized weight into a MatMulNBits, which
/// reads the weight's codes, where OnnxWriteOptions::matmul_nbits says that it can; every other
/// `dequantize` stays, and `sink` (may be null) hears why. Returns the number of products. Linear
/// in the size of the graph; reads scales and zero points, no codes. Throws what reading them
/// throws.
std::int64_t use_matmul_nbits(Graph& graph, Sink* sink);

}  // namespace quadrant::inline v0::onnx
