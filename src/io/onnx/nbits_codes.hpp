// The codes of a weight in the form that com.microsoft.MatMulNBits and MatMulBnb4 read.
#pragma once

#include <cstdint>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::onnx {

/// A matrix of `rows` output channels by `columns`, which the product sums over. (ONNX Runtime's
/// contrib operators, https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
/// #com.microsoft.MatMulNBits, call them N and K.)
struct NBitsLayout {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t block_size = 0;  ///< a power of two, at least 16
  int bits = 0;                 ///< 2, 4 or 8
  bool rows_first = false;      ///< how the codes are stored: `[rows, columns]`, or transposed
  bool first_is_high = false;   ///< of 4 bits: the first code of a byte in its high half

  [[nodiscard]] std::int64_t blocks() const noexcept {  ///< of a row; the last may be short
    return columns / block_size + (columns % block_size != 0 ? 1 : 0);
  }
};

/// `codes` (int4, uint4, int8 or uint8) as uint8 `[rows, blocks, block_size * bits / 8]`: signed
/// ones moved up by half their range, those of 4 and 2 bits two and four in a byte with the first
/// in the lowest bits, the last block filled up with zeros. Codes of 2 bits are int4 or uint4 as
/// well. Computed when it is read, any part at a time, with memory for the rows that it is in, up
/// to 64 MiB, and for 128 columns of them; several threads may read. The shape's elements must be
/// countable in 63 bits.
///
///   i4 {{-8}, {7}, {1}} (columns first), block size 16  ->  {0xF0, 0x09, 0, 0, 0, 0, 0, 0}
[[nodiscard]] Constant nbits_codes(Constant codes, const NBitsLayout& layout);

/// What is added to a code of so many bits to make it unsigned: half the range of a signed type,
/// else 0.
[[nodiscard]] int nbits_offset(ElementType storage, int bits) noexcept;

}  // namespace quadrant::inline v0::onnx
