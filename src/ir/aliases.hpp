// Operations under other names than ONNX's own.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Replaces what ONNX Runtime calls by names of its own (`com.microsoft`) and ONNX says exactly:
/// Gelu and its variants, normalizations of sums, products and convolutions with an activation; and
/// MatMulNBits and MatMulBnb4, whose packed codes, constants, become a `dequantize` with the same
/// numbers: scales and zero points are read. For all that is not written as ONNX again: there, both
/// names are equally good. Values keep their names; operations with a second result that is read,
/// and no counterpart for it, stay. Linear.
[[nodiscard]] Expected<void> resolve_aliases(Graph& graph);

}  // namespace quadrant::inline v0
