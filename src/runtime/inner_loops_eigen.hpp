// The inner loops, for whatever processor the file is compiled for that includes this one. It says
// in which namespace they are (QUADRANT_INNER_LOOPS).
//
// Nothing here may call an inline function that other files call too: the linker keeps one of its
// copies, and it may be the one that only some processors can run. Eigen is renamed for that
// reason, and tests/processor_functions.py looks for what is left.
#pragma once

#ifndef QUADRANT_INNER_LOOPS
#define QUADRANT_INNER_LOOPS baseline
#endif

#include <Eigen/Core>
#include <type_traits>

#include "runtime/inner_loops.hpp"

namespace quadrant::inline v0::QUADRANT_INNER_LOOPS {

namespace {

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The matrix as it lies in memory.
template <class T>
auto stored(const MatrixView<T>& matrix) {
  using Element = std::remove_const_t<T>;
  using Stored = std::conditional_t<std::is_const_v<T>, const Rows<Element>, Rows<Element>>;
  const bool transposed = matrix.transposed;
  return Eigen::Map<Stored, Eigen::Unaligned, Eigen::OuterStride<>>(
      matrix.data, transposed ? matrix.columns : matrix.rows,
      transposed ? matrix.rows : matrix.columns, Eigen::OuterStride<>(matrix.stride));
}

// Calls `body` with the matrix as the product sees it.
template <class T, class Body>
void with_matrix(const MatrixView<T>& matrix, Body body) {
  if (matrix.transposed) {
    body(stored(matrix).transpose());
  } else {
    body(stored(matrix));
  }
}

template <class T>
void add_product(const MatrixView<const T>& a, const MatrixView<const T>& b, T factor,
                 const MatrixView<T>& out) {
  auto result = stored(out);
  with_matrix(a, [&](const auto& left) {
    with_matrix(b, [&](const auto& right) { result.noalias() += factor * (left * right); });
  });
}

template <class T>
void weighted_sum(const T* source, const std::int64_t* offsets, const T* weights, std::int64_t taps,
                  std::int64_t length, T* out) {
  // Eight registers of sums, which is as many as additions that are under way at a time.
  constexpr int block = 8 * EIGEN_MAX_STATIC_ALIGN_BYTES / static_cast<int>(sizeof(T));
  static_assert(InnerLoops<T>::padding % block == 0);
  using Block = Eigen::Array<T, block, 1>;
  for (std::int64_t i = 0; i < length; i += block) {
    Block sum = Block::Zero();
    for (std::int64_t t = 0; t < taps; ++t) {
      sum += weights[t] * Eigen::Map<const Block>(source + offsets[t] + i);
    }
    Eigen::Map<Block>(out + i) = sum;
  }
}

template <class T>
void sigmoid(const T* x, std::int64_t count, T* y) {
  using Elements = Eigen::Array<T, Eigen::Dynamic, 1>;
  Eigen::Map<Elements>(y, count) = (T{1} + (-Eigen::Map<const Elements>(x, count)).exp()).inverse();
}

}  // namespace

const InnerLoops<float> float_loops{add_product<float>, weighted_sum<float>, sigmoid<float>};
const InnerLoops<double> double_loops{add_product<double>, weighted_sum<double>, sigmoid<double>};

}  // namespace quadrant::inline v0::QUADRANT_INNER_LOOPS
