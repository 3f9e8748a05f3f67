#include "runtime/gemm.hpp"

#include <type_traits>

#include "runtime/inner_loops.hpp"

namespace quadrant::inline v0 {

namespace {

// Integers are rare, and have only to be right.
template <class T>
void add_integer_product(const MatrixView<const T>& a, const MatrixView<const T>& b, T factor,
                         const MatrixView<T>& out) {
  const std::int64_t a_row = a.transposed ? 1 : a.stride;
  const std::int64_t a_column = a.transposed ? a.stride : 1;
  const std::int64_t b_row = b.transposed ? 1 : b.stride;
  const std::int64_t b_column = b.transposed ? b.stride : 1;
  for (std::int64_t i = 0; i < out.rows; ++i) {
    T* row = out.data + i * out.stride;
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const T scaled = factor * a.data[i * a_row + k * a_column];
      const T* other = b.data + k * b_row;
      for (std::int64_t j = 0; j < out.columns; ++j) row[j] += scaled * other[j * b_column];
    }
  }
}

}  // namespace

template <class T>
void add_product(const MatrixView<const T>& a, const MatrixView<const T>& b, T factor,
                 const MatrixView<T>& out) {
  if (out.rows == 0 || out.columns == 0 || a.columns == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    inner_loops<T>().add_product(a, b, factor, out);
  } else {
    add_integer_product(a, b, factor, out);
  }
}

template void add_product(const MatrixView<const float>&, const MatrixView<const float>&, float,
                          const MatrixView<float>&);
template void add_product(const MatrixView<const double>&, const MatrixView<const double>&, double,
                          const MatrixView<double>&);
template void add_product(const MatrixView<const std::uint32_t>&,
                          const MatrixView<const std::uint32_t>&, std::uint32_t,
                          const MatrixView<std::uint32_t>&);
template void add_product(const MatrixView<const std::uint64_t>&,
                          const MatrixView<const std::uint64_t>&, std::uint64_t,
                          const MatrixView<std::uint64_t>&);

}  // namespace quadrant::inline v0
