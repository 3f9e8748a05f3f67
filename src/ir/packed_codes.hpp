// Weights that ONNX Runtime's products and lookups hold packed, as constants of codes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

inline constexpr std::string_view matmul_nbits_kind = "onnx.com.microsoft::MatMulNBits";
inline constexpr std::string_view matmul_bnb4_kind = "onnx.com.microsoft::MatMulBnb4";
inline constexpr std::string_view gather_block_quantized_kind =
    "onnx.com.microsoft::GatherBlockQuantized";
/// MatMulBnb4's tables, by its attribute quant_type.
inline constexpr std::array bnb4_tables{FixedTable::fp4_bnb, FixedTable::nf4};

/// Of rows, columns and blocks: beyond, counts of bits would not be below 63 bits.
inline constexpr std::int64_t largest_packed_extent = std::int64_t{1} << 28U;

/// Codes, and what they stand for: a matrix [outputs, inputs], or a table.
struct UnpackedWeight {
  Constant codes;  ///< unpacked when they are read
  Quantization quantization;
};

/// The weight of a MatMulNBits or MatMulBnb4 of com.microsoft, with the same numbers. Empty where
/// an extent is larger than `largest_packed_extent`, the node's weight is no constant, or no type
/// here says the same: columns with blocks of their own, zero points that are floats, scales
/// of zero, blocks that go on from one row to the next. Reads scales and zero points.
[[nodiscard]] std::optional<UnpackedWeight> unpacked_weight(NodeRef product);

/// The table of a GatherBlockQuantized, in the same way: of int4 and uint4, and of uint8, whose
/// bytes hold one code or two. Empty, too, where it makes other numbers than float32, and where
/// rows of bytes would end within one: releases of ONNX Runtime read on differently there.
[[nodiscard]] std::optional<UnpackedWeight> unpacked_table(NodeRef lookup);

}  // namespace quadrant::inline v0
