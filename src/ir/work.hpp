// How much an operation computes.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Elements of a tensor of this shape. An extent that is not known counts as 1 (so that with a
/// batch that is left open, this is of one sample), an unknown rank as 1 element. Saturates.
[[nodiscard]] std::int64_t counted_elements(const Shape& shape) noexcept;

/// The products that a convolution or a matrix product adds up (conv, conv_transpose, matmul,
/// gemm, linear, addmm, batch_matmul, baddbmm), for the shapes that are known, counted as above;
/// sums over an axis that neither factor knows count as 32. 0 for every other operation. Saturates.
///
///   conv of [1, 3, 32, 32] with [16, 3, 3, 3], pads 1  ->  16 * 32 * 32 * 27
[[nodiscard]] std::int64_t multiply_accumulates(NodeRef node) noexcept;

/// Which operand of such a product is the first of its two factors; the other is behind it. What is
/// added may stand in front of them.
[[nodiscard]] std::uint32_t first_factor(NodeRef node) noexcept;

}  // namespace quadrant::inline v0
