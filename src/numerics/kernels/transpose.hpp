// Matrices of bytes, transposed.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// to[c * to_stride + r] = from[r * from_stride + c] for all `rows` and `columns`, which do not
/// overlap. Pointers may be null where there are no rows or no columns.
void transpose_bytes(const std::byte* from, std::size_t from_stride, std::size_t rows,
                     std::size_t columns, std::byte* to, std::size_t to_stride) noexcept;

}  // namespace quadrant::inline v0::kernels
