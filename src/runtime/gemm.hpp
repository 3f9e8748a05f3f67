// Products of matrices.
#pragma once

#include <cstdint>

namespace quadrant::inline v0 {

/// A matrix that lies in memory row by row, or the transpose of one.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;  ///< of the matrix as the product sees it, and so its columns
  std::int64_t columns = 0;
  std::int64_t stride = 0;  ///< elements from one row in memory to the next
  bool transposed = false;  ///< what are rows in memory are the product's columns

  /// `data` without gaps.
  [[nodiscard]] static MatrixView dense(T* data, std::int64_t rows, std::int64_t columns,
                                        bool transposed = false) {
    return {data, rows, columns, transposed ? rows : columns, transposed};
  }
};

/// out += factor * a * b. `out` is not transposed and lies apart from both. T: float, double, and
/// uint32_t and uint64_t, which wrap around and so serve signed integers too.
template <class T>
void add_product(const MatrixView<const T>& a, const MatrixView<const T>& b, T factor,
                 const MatrixView<T>& out);

}  // namespace quadrant::inline v0
