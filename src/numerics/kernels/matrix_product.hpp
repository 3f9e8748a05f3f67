// Products of matrices of floats or doubles, the same on all processors: the interpreter's
// (runtime/gemm.hpp), which fuses additions where it can, are faster.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// Three matrices: a [rows, inner], b [inner, columns] and out [rows, columns]. Rows are `*_row`
/// apart; neighbours in a row are neighbours in memory.
template <class T>
struct MatrixProduct {
  const T* a = nullptr;
  std::size_t a_row = 0;
  const T* b = nullptr;
  std::size_t b_row = 0;
  T* out = nullptr;
  std::size_t out_row = 0;
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
};

/// out += a b. Each number is a sum from what was there, one product after the other, each of them
/// rounded: the same on all processors. `out` does not overlap the others.
void add_product(const MatrixProduct<double>& product) noexcept;
void add_product(const MatrixProduct<float>& product) noexcept;

}  // namespace quadrant::inline v0::kernels
