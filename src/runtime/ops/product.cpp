#include "runtime/ops/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/broadcast.hpp"
#include "runtime/gemm.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Shape leading_axes(const Shape& shape) {
  const auto extents = shape.known_extents();
  return Shape(std::vector<std::int64_t>(extents.begin(), extents.end() - 2));
}

Shape with_axes(const Shape& leading, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> extents(leading.known_extents().begin(), leading.known_extents().end());
  extents.insert(extents.end(), {rows, columns});
  return Shape(extents);
}

// The last two axes of an operand, as the product sees them.
struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool transposed = false;

  MatrixShape(const Tensor& tensor, bool is_transposed)
      : rows(tensor.extent(tensor.rank() - (is_transposed ? 1 : 2))),
        columns(tensor.extent(tensor.rank() - (is_transposed ? 2 : 1))),
        transposed(is_transposed) {}

  // The matrix of that index among those that follow one another from `data` on.
  template <class T>
  [[nodiscard]] MatrixView<const T> at(const T* data, std::int64_t index) const {
    return MatrixView<const T>::dense(data + index * rows * columns, rows, columns, transposed);
  }
};

// `T` is unsigned for all integers.
template <class T>
Expected<T> factor_of(double factor) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(factor);
  } else {
    if (std::nearbyint(factor) != factor || std::abs(factor) > 0x1p31) {
      return KernelCall::refuse(fmt::format("a product of integers times {}", factor));
    }
    return static_cast<T>(static_cast<std::int64_t>(factor));
  }
}

// Fills `out` with factor * C. A factor of 0 says that C is not there, whatever it contains.
template <class T>
void fill_with_scaled(const Tensor& c, T factor, Tensor& out) {
  T* const sum = out.fill<T>().data();
  if (!c || factor == T{0}) {
    std::ranges::fill(out.fill<T>(), T{0});
    return;
  }
  const T* const addend = c.as<T>().data();
  const std::array strides{broadcast_strides(c.shape(), out.shape())};
  for_each_run(out.shape(), strides,
               [&](std::int64_t position, const std::array<std::int64_t, 1>& offsets,
                   std::int64_t length, const std::array<std::int64_t, 1>& steps) {
                 const T* from = addend + offsets[0];
                 T* to = sum + position;
                 for (std::int64_t i = 0; i < length; ++i) to[i] = factor * from[i * steps[0]];
               });
}

// A product for each index of the batch; a single one where B is the same for all.
template <class T>
Expected<Tensor> multiply_as(const Product& product, Shape batch) {
  MatrixShape left(product.a, product.transpose_a);
  const MatrixShape right(product.b, product.transpose_b);
  QUADRANT_TRY(const T alpha, factor_of<T>(product.alpha));
  QUADRANT_TRY(const T beta, factor_of<T>(product.beta));
  QUADRANT_TRY(Tensor y,
               Tensor::make(product.a.element(), with_axes(batch, left.rows, right.columns)));
  fill_with_scaled(product.c, beta, y);
  if (y.element_count() == 0 || left.columns == 0) return y;
  const T* const a = product.a.as<T>().data();
  const T* const b = product.b.as<T>().data();
  T* const out = y.fill<T>().data();
  Shape a_batch = leading_axes(product.a.shape());
  if (product.b.rank() == 2 && !product.transpose_a) {
    left.rows *= a_batch.element_count().value_or(0);
    batch = a_batch = Shape::scalar();
  }
  const std::array strides{broadcast_strides(a_batch, batch),
                           broadcast_strides(leading_axes(product.b.shape()), batch)};
  for_each_run(batch, strides,
               [&](std::int64_t position, const std::array<std::int64_t, 2>& offsets,
                   std::int64_t length, const std::array<std::int64_t, 2>& steps) {
                 for (std::int64_t i = 0; i < length; ++i) {
                   add_product(
                       left.at(a, offsets[0] + i * steps[0]),
                       right.at(b, offsets[1] + i * steps[1]), alpha,
                       MatrixView<T>::dense(out + (position + i) * left.rows * right.columns,
                                            left.rows, right.columns));
                 }
               });
  return y;
}

Expected<Shape> checked_batch(const Product& product) {
  const Tensor& a = product.a;
  const Tensor& b = product.b;
  if (!a || b.element() != a.element()) {
    return KernelCall::refuse(
        fmt::format("operands of types {} and {}", to_string(a.element()), to_string(b.element())));
  }
  if (a.rank() < 2 || b.rank() < 2 ||
      MatrixShape(a, product.transpose_a).columns != MatrixShape(b, product.transpose_b).rows) {
    return KernelCall::refuse(fmt::format("matrices of shapes [{}] and [{}] have no product",
                                          to_string(a.shape()), to_string(b.shape())));
  }
  return broadcast_shape(leading_axes(a.shape()), leading_axes(b.shape()));
}

Expected<void> check_addend(const Product& product, const Shape& batch) {
  const auto& [a, b, c, transpose_a, transpose_b, alpha, beta] = product;
  if (!c) return {};
  const Shape shape =
      with_axes(batch, MatrixShape(a, transpose_a).rows, MatrixShape(b, transpose_b).columns);
  if (c.element() == a.element() && broadcast_shape(c.shape(), shape) == shape) return {};
  return KernelCall::refuse(fmt::format(
      "C of type {} and shape [{}] for a product of type {} and shape [{}]", to_string(c.element()),
      to_string(c.shape()), to_string(a.element()), to_string(shape)));
}

}  // namespace

Expected<Tensor> multiply(const Product& product) {
  QUADRANT_TRY(Shape batch, checked_batch(product));
  QUADRANT_CHECK(check_addend(product, batch));
  switch (product.a.element()) {
    case ElementType::float32:
      return multiply_as<float>(product, std::move(batch));
    case ElementType::float64:
      return multiply_as<double>(product, std::move(batch));
    case ElementType::int32:
    case ElementType::uint32:
      return multiply_as<std::uint32_t>(product, std::move(batch));
    case ElementType::int64:
    case ElementType::uint64:
      return multiply_as<std::uint64_t>(product, std::move(batch));
    default:
      return KernelCall::refuse(
          fmt::format("a product of type {}", to_string(product.a.element())));
  }
}

Expected<Tensor> multiply_numpy(Product product) {
  const std::int64_t a_rank = product.a.rank();
  const std::int64_t b_rank = product.b.rank();
  if (a_rank == 1) product.a = product.a.reshaped({1, product.a.extent(0)});
  if (b_rank == 1) product.b = product.b.reshaped({product.b.extent(0), 1});
  QUADRANT_TRY(Tensor y, multiply(product));
  if (a_rank != 1 && b_rank != 1) return y;
  const auto extents = y.extents();
  std::vector<std::int64_t> kept(extents.begin(), extents.end() - 2);
  if (a_rank != 1) kept.push_back(extents[extents.size() - 2]);
  if (b_rank != 1) kept.push_back(extents.back());
  return y.reshaped(Shape(kept));
}

}  // namespace quadrant::inline v0::interpreted
