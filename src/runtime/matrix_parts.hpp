// Rows and columns of matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/gemm.hpp"

namespace quadrant::inline v0 {

/// Of a matrix that is not transposed.
template <class T>
[[nodiscard]] std::span<T> row_of(const MatrixView<T>& matrix, std::int64_t row) {
  return {matrix.data + row * matrix.stride, static_cast<std::size_t>(matrix.columns)};
}

template <class T>
[[nodiscard]] MatrixView<const T> as_const(const MatrixView<T>& matrix) {
  return {matrix.data, matrix.rows, matrix.columns, matrix.stride, matrix.transposed};
}

/// Columns `first` to `first + count` of a matrix that is not transposed.
template <class T>
[[nodiscard]] MatrixView<T> columns_of(const MatrixView<T>& matrix, std::int64_t first,
                                       std::int64_t count) {
  return {matrix.data + first, matrix.rows, count, matrix.stride, false};
}

}  // namespace quadrant::inline v0
