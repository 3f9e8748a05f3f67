#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/ops/functions.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// By elimination; `rows` is a matrix of `size` rows of as many numbers, and is used up.
double determinant(std::vector<double>& rows, std::size_t size) {
  double product = 1;
  for (std::size_t column = 0; column < size; ++column) {
    // The row with the largest number takes its place in the diagonal.
    const auto magnitude = [&](std::size_t row) { return std::abs(rows[row * size + column]); };
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < size; ++row) {
      if (magnitude(row) > magnitude(pivot)) pivot = row;
    }
    double* const top = rows.data() + column * size;
    if (pivot != column) {
      std::swap_ranges(top, top + size, rows.data() + pivot * size);
      product = -product;
    }
    product *= top[column];
    if (top[column] == 0) return product;
    for (std::size_t row = column + 1; row < size; ++row) {
      double* const below = rows.data() + row * size;
      const double factor = below[column] / top[column];
      for (std::size_t i = column; i < size; ++i) below[i] -= factor * top[i];
    }
  }
  return product;
}

Expected<Tensors> det(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  if (x.rank() < 2 || x.extent(x.rank() - 1) != x.extent(x.rank() - 2)) {
    return KernelCall::refuse(
        fmt::format("an operand of shape [{}], which is no square matrix", to_string(x.shape())));
  }
  Shape batch(extents_between(x.shape(), 0, x.rank() - 2));
  const auto size = static_cast<std::size_t>(x.extent(x.rank() - 1));
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), std::move(batch)));
    auto numbers = x.as<T>();
    std::vector<double> rows;
    for (T& out : y.fill<T>()) {
      rows.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(size * size));
      out = static_cast<T>(determinant(rows, size));
      numbers = numbers.subspan(size * size);
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_det() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Det::kind, det, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
