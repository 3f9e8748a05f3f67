// Typed views of the operations that the library knows. Storage is generic (kind, operands,
// attributes); reading is typed: `ops::Transpose{node}.perm()`.
//
// A view works on any GraphView. Operations and their attributes mean what ONNX's of the same name
// mean (https://onnx.ai/onnx/operators) unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// `axis`, counted from the end when negative, as an index below `rank`; empty when outside.
[[nodiscard]] constexpr std::optional<std::int64_t> normalize_axis(std::int64_t axis,
                                                                   std::int64_t rank) noexcept {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

namespace ops {

/// A graph input: no operands, one result.
struct Input {
  static constexpr std::string_view kind = "input";
  NodeRef node;
};

/// A constant: no operands, one result; the contents are `node.graph->constant(node.id)`.
struct Constant {
  static constexpr std::string_view kind = "constant";
  NodeRef node;
};

/// A graph output: one operand, no results.
struct Output {
  static constexpr std::string_view kind = "output";
  NodeRef node;
};

struct Identity {
  static constexpr std::string_view kind = "identity";
  NodeRef node;
};

/// Operand 0: data. Result axis `i` is operand axis `perm()[i]`.
struct Transpose {
  static constexpr std::string_view kind = "transpose";
  NodeRef node;
  /// Reversed axes when the attribute `perm` is missing. Empty when the rank is unknown or the
  /// attribute is no permutation of that rank.
  [[nodiscard]] std::vector<std::int64_t> perm() const;
};

/// Operands: data, shape. The result's type holds the shape where it is known.
struct Reshape {
  static constexpr std::string_view kind = "reshape";
  NodeRef node;
  [[nodiscard]] bool allow_zero() const {
    return node.attribute_or<std::int64_t>("allowzero", 0) != 0;
  }
};

/// Operands: A `[..., M, K]`, B `[..., K, N]` with broadcast leading axes; a one-dimensional
/// operand is a row (A) or a column (B).
struct MatMul {
  static constexpr std::string_view kind = "matmul";
  NodeRef node;
};

/// alpha * A' B' + beta * C, A' `[M, K]`, B' `[K, N]`. Operands: A, B, optional C.
struct Gemm {
  static constexpr std::string_view kind = "gemm";
  NodeRef node;
  [[nodiscard]] bool trans_a() const { return node.attribute_or<std::int64_t>("transA", 0) != 0; }
  [[nodiscard]] bool trans_b() const { return node.attribute_or<std::int64_t>("transB", 0) != 0; }
};

/// Operands: X `[N, C, spatial...]`, W `[M, C / group, kernel...]`, optional B `[M]`.
struct Conv {
  static constexpr std::string_view kind = "conv";
  NodeRef node;
};

/// Real values to codes (MLIR's qcast). The result's type holds the parameters.
struct Quantize {
  static constexpr std::string_view kind = "quantize";
  NodeRef node;
};

/// Codes to real values (MLIR's dcast). The operand's type holds the parameters.
struct Dequantize {
  static constexpr std::string_view kind = "dequantize";
  NodeRef node;
};

/// The same bits under a quantized or a plain integer type (MLIR's scast).
struct StorageCast {
  static constexpr std::string_view kind = "storage_cast";
  NodeRef node;
};

}  // namespace ops
}  // namespace quadrant::inline v0
