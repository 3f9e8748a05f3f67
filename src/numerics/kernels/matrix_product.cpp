#include "numerics/kernels/matrix_product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/matrix_product.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;

constexpr std::size_t most_lanes = 8;
// Of b, a panel of two vectors: that many of its rows are in the first-level cache together.
constexpr std::size_t panel_rows = 128;
using Panel = std::array<double, panel_rows * 2 * most_lanes>;

// Some of b's rows, side by side; columns that there are not are zeros.
HWY_INLINE void pack(const double* b, std::size_t b_row, std::size_t rows, std::size_t columns,
                     double* panel) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = 2 * lanes;
  for (std::size_t k = 0; columns == width && k < rows; ++k) {
    hn::StoreU(hn::LoadU(d, b + k * b_row), d, panel + k * width);
    hn::StoreU(hn::LoadU(d, b + k * b_row + lanes), d, panel + k * width + lanes);
  }
  for (std::size_t k = 0; columns != width && k < rows; ++k) {
    for (std::size_t c = 0; c < columns; ++c) panel[k * width + c] = b[k * b_row + c];
    for (std::size_t c = columns; c < width; ++c) panel[k * width + c] = 0;
  }
}

// Of `rows` rows of out, two vectors: their sums stay in registers.
template <std::size_t rows>
HWY_INLINE void add_tile(const double* a, std::size_t a_row, const double* panel, std::size_t inner,
                         double* out, std::size_t out_row) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<Doubles> left[rows];   // NOLINT: arrays of vectors that std::array cannot hold everywhere
  hn::Vec<Doubles> right[rows];  // NOLINT
  for (std::size_t r = 0; r < rows; ++r) {
    left[r] = hn::LoadU(d, out + r * out_row);
    right[r] = hn::LoadU(d, out + r * out_row + lanes);
  }
  for (std::size_t k = 0; k < inner; ++k) {
    const auto b_left = hn::LoadU(d, panel + k * 2 * lanes);
    const auto b_right = hn::LoadU(d, panel + k * 2 * lanes + lanes);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto factor = hn::Set(d, a[r * a_row + k]);
      left[r] = hn::Add(left[r], hn::Mul(factor, b_left));
      right[r] = hn::Add(right[r], hn::Mul(factor, b_right));
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    hn::StoreU(left[r], d, out + r * out_row);
    hn::StoreU(right[r], d, out + r * out_row + lanes);
  }
}

HWY_INLINE void add_row(double factor, const double* b, std::size_t columns, double* out) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const auto factors = hn::Set(d, factor);
  std::size_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    const auto product = hn::Mul(factors, hn::LoadU(d, b + c));
    hn::StoreU(hn::Add(hn::LoadU(d, out + c), product), d, out + c);
  }
  for (; c < columns; ++c) out[c] += factor * b[c];
}

constexpr std::size_t tile_rows = 4;

// Of a panel's columns, which may be fewer than it has, one row.
HWY_INLINE void add_edge(const double* a, const double* panel, std::size_t inner,
                         std::size_t columns, double* out) {
  const std::size_t width = 2 * hn::Lanes(Doubles());
  alignas(64) std::array<double, 2 * most_lanes> sums{};
  for (std::size_t c = 0; c < columns; ++c) sums[c] = out[c];
  add_tile<1>(a, 0, panel, inner, sums.data(), width);
  for (std::size_t c = 0; c < columns; ++c) out[c] = sums[c];
}

// Some columns of out, and some of the products.
HWY_INLINE void add_panel(const MatrixProduct& p, const double* panel, std::size_t column,
                          std::size_t columns, std::size_t first, std::size_t inner) {
  const bool is_whole = columns == 2 * hn::Lanes(Doubles());
  std::size_t row = 0;
  for (; is_whole && row + tile_rows <= p.rows; row += tile_rows) {
    add_tile<tile_rows>(p.a + row * p.a_row + first, p.a_row, panel, inner,
                        p.out + row * p.out_row + column, p.out_row);
  }
  for (; row < p.rows; ++row) {
    add_edge(p.a + row * p.a_row + first, panel, inner, columns, p.out + row * p.out_row + column);
  }
}

void add_product(const MatrixProduct& p) {
  if (p.rows < tile_rows || p.inner == 1) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      for (std::size_t k = 0; k < p.inner; ++k) {
        add_row(p.a[r * p.a_row + k], p.b + k * p.b_row, p.columns, p.out + r * p.out_row);
      }
    }
    return;
  }
  const std::size_t width = 2 * hn::Lanes(Doubles());
  alignas(64) Panel panel{};
  for (std::size_t column = 0; column < p.columns; column += width) {
    const std::size_t columns = p.columns - column < width ? p.columns - column : width;
    for (std::size_t first = 0; first < p.inner; first += panel_rows) {
      const std::size_t inner = p.inner - first < panel_rows ? p.inner - first : panel_rows;
      pack(p.b + first * p.b_row + column, p.b_row, inner, columns, panel.data());
      add_panel(p, panel.data(), column, columns, first, inner);
    }
  }
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(add_product);

void add_product(const MatrixProduct& product) noexcept {
  HWY_DYNAMIC_DISPATCH(add_product)(product);
}

}  // namespace quadrant::inline v0::kernels
#endif
