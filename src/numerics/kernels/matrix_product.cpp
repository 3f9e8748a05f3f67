#include "numerics/kernels/matrix_product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/matrix_product.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of 64 bytes at most.
template <class T>
using Numbers = hn::CappedTag<T, 64 / sizeof(T)>;

template <class T>
HWY_INLINE std::size_t panel_width() {
  return 2 * hn::Lanes(Numbers<T>());
}
template <class T>
constexpr std::size_t widest_panel = 2 * 64 / sizeof(T);

// Of b, that many rows and columns are packed at a time: panels of two vectors, one behind the
// other, each of which the first-level cache holds, all of which the second does.
constexpr std::size_t strip_rows = 128;
constexpr std::size_t strip_columns = 64;
template <class T>
using Strip = std::array<T, strip_rows * strip_columns>;

// Some rows of a panel, side by side; columns that there are not are zeros.
template <class T>
HWY_INLINE void pack(const T* b, std::size_t b_row, std::size_t rows, std::size_t columns,
                     T* panel) {
  const Numbers<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = panel_width<T>();
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
template <std::size_t rows, class T>
HWY_INLINE void add_tile(const T* a, std::size_t a_row, const T* panel, std::size_t inner, T* out,
                         std::size_t out_row) {
  const Numbers<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<Numbers<T>>;
  Vector left[rows];   // NOLINT: arrays of vectors that std::array cannot hold everywhere
  Vector right[rows];  // NOLINT
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

// As many as there are registers for.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t tile_rows = 8;
#else
constexpr std::size_t tile_rows = 4;
#endif

// The same of fewer columns.
template <std::size_t rows, class T>
HWY_INLINE void add_narrow_tile(const T* a, std::size_t a_row, const T* panel, std::size_t inner,
                                T* out, std::size_t out_row, std::size_t columns) {
  alignas(64) std::array<T, rows * widest_panel<T>> sums{};
  const std::size_t width = panel_width<T>();
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) sums[r * width + c] = out[r * out_row + c];
  }
  add_tile<rows>(a, a_row, panel, inner, sums.data(), width);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out[r * out_row + c] = sums[r * width + c];
  }
}

// `rows` rows of out, some of its columns.
template <std::size_t rows, class T>
HWY_INLINE void add_panels(const T* a, std::size_t a_row, const Strip<T>& strip, std::size_t inner,
                           T* out, std::size_t out_row, std::size_t columns) {
  const std::size_t width = panel_width<T>();
  std::size_t column = 0;
  for (; column + width <= columns; column += width) {
    add_tile<rows>(a, a_row, strip.data() + column * inner, inner, out + column, out_row);
  }
  if (column == columns) return;
  add_narrow_tile<rows>(a, a_row, strip.data() + column * inner, inner, out + column, out_row,
                        columns - column);
}

// Some columns of out, and some of the products.
template <class T>
HWY_INLINE void add_strip(const MatrixProduct<T>& p, Strip<T>& strip, std::size_t first,
                          std::size_t inner, std::size_t from, std::size_t columns) {
  const std::size_t width = panel_width<T>();
  for (std::size_t column = 0; column < columns; column += width) {
    pack(p.b + first * p.b_row + from + column, p.b_row, inner,
         columns - column < width ? columns - column : width, strip.data() + column * inner);
  }
  std::size_t row = 0;
  for (; row + tile_rows <= p.rows; row += tile_rows) {
    add_panels<tile_rows>(p.a + row * p.a_row + first, p.a_row, strip, inner,
                          p.out + row * p.out_row + from, p.out_row, columns);
  }
  for (; row < p.rows; ++row) {
    add_panels<1>(p.a + row * p.a_row + first, p.a_row, strip, inner,
                  p.out + row * p.out_row + from, p.out_row, columns);
  }
}

// `vectors` vectors of one row of out; b as it lies.
template <std::size_t vectors, class T>
HWY_INLINE void add_vectors(const T* a, const T* b, std::size_t b_row, std::size_t inner, T* out) {
  const Numbers<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<Numbers<T>>;
  Vector sums[vectors];  // NOLINT
  for (std::size_t v = 0; v < vectors; ++v) sums[v] = hn::LoadU(d, out + v * lanes);
  for (std::size_t k = 0; k < inner; ++k) {
    const auto factor = hn::Set(d, a[k]);
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto product = hn::Mul(factor, hn::LoadU(d, b + k * b_row + v * lanes));
      sums[v] = hn::Add(sums[v], product);
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sums[v], d, out + v * lanes);
}

template <class T>
HWY_INLINE void add_row(const T* a, const T* b, std::size_t b_row, std::size_t inner, T* out,
                        std::size_t columns) {
  constexpr std::size_t many = 4;
  const std::size_t lanes = hn::Lanes(Numbers<T>());
  std::size_t c = 0;
  for (; c + many * lanes <= columns; c += many * lanes) {
    add_vectors<many>(a, b + c, b_row, inner, out + c);
  }
  for (; c + lanes <= columns; c += lanes) add_vectors<1>(a, b + c, b_row, inner, out + c);
  for (; c < columns; ++c) {
    for (std::size_t k = 0; k < inner; ++k) out[c] += a[k] * b[k * b_row + c];
  }
}

template <class T>
HWY_INLINE void add_matrices(const MatrixProduct<T>& p) {
  constexpr std::size_t few_rows = 4;  // for which packing would take longer
  if (p.rows < few_rows || p.inner == 1) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      add_row(p.a + r * p.a_row, p.b, p.b_row, p.inner, p.out + r * p.out_row, p.columns);
    }
    return;
  }
  alignas(64) Strip<T> strip;  // NOLINT: what is read was packed before
  for (std::size_t from = 0; from < p.columns; from += strip_columns) {
    const std::size_t columns = p.columns - from < strip_columns ? p.columns - from : strip_columns;
    for (std::size_t first = 0; first < p.inner; first += strip_rows) {
      const std::size_t inner = p.inner - first < strip_rows ? p.inner - first : strip_rows;
      add_strip(p, strip, first, inner, from, columns);
    }
  }
}

void add_doubles(const MatrixProduct<double>& p) { add_matrices(p); }
void add_floats(const MatrixProduct<float>& p) { add_matrices(p); }

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(add_doubles);
HWY_EXPORT(add_floats);

void add_product(const MatrixProduct<double>& product) noexcept {
  HWY_DYNAMIC_DISPATCH(add_doubles)(product);
}
void add_product(const MatrixProduct<float>& product) noexcept {
  HWY_DYNAMIC_DISPATCH(add_floats)(product);
}

}  // namespace quadrant::inline v0::kernels
#endif
