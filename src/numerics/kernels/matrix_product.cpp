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

// Of out, tiles of four rows are summed up in registers, of as many vectors as there are registers
// for.
constexpr std::size_t tile_rows = 4;
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t tile_vectors = 4;
#else
constexpr std::size_t tile_vectors = 2;
#endif
template <class T>
constexpr std::size_t widest_tile = tile_vectors * 64 / sizeof(T);

// Of b, that many rows and columns are packed at a time: panels as wide as a tile, one behind the
// other, which the second-level cache holds.
constexpr std::size_t strip_rows = 128;
constexpr std::size_t strip_columns = 64;
template <class T>
using Strip = std::array<T, strip_rows * strip_columns>;

// Vectors of a panel; its last columns may not be there.
template <class T>
HWY_INLINE std::size_t vectors_of(std::size_t columns) {
  const std::size_t lanes = hn::Lanes(Numbers<T>());
  return columns < tile_vectors * lanes ? (columns + lanes - 1) / lanes : tile_vectors;
}

// Some rows of a panel, side by side.
template <class T>
HWY_INLINE void pack_whole(const T* b, std::size_t b_row, std::size_t rows, T* panel) {
  const Numbers<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t k = 0; k < rows; ++k) {
    hn::Vec<Numbers<T>> row[tile_vectors];  // NOLINT: all read, then written: no call of memcpy
    for (std::size_t v = 0; v < tile_vectors; ++v) row[v] = hn::LoadU(d, b + k * b_row + v * lanes);
    for (std::size_t v = 0; v < tile_vectors; ++v) {
      hn::Store(row[v], d, panel + (k * tile_vectors + v) * lanes);
    }
  }
}

// The same of the last panel; columns that there are not are zeros.
template <class T>
HWY_INLINE void pack_narrow(const T* b, std::size_t b_row, std::size_t rows, std::size_t columns,
                            T* panel) {
  const std::size_t width = vectors_of<T>(columns) * hn::Lanes(Numbers<T>());
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t c = 0; c < columns; ++c) panel[k * width + c] = b[k * b_row + c];
    for (std::size_t c = columns; c < width; ++c) panel[k * width + c] = 0;
  }
}

template <std::size_t rows, std::size_t vectors, class T>
HWY_INLINE void add_tile(const T* a, std::size_t a_row, const T* panel, std::size_t inner, T* out,
                         std::size_t out_row) {
  const Numbers<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<Numbers<T>>;
  Vector sums[rows][vectors];  // NOLINT: arrays of vectors that std::array cannot hold everywhere
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] = hn::LoadU(d, out + r * out_row + v * lanes);
    }
  }
  for (std::size_t k = 0; k < inner; ++k) {
    Vector of_b[vectors];  // NOLINT
    for (std::size_t v = 0; v < vectors; ++v) {
      of_b[v] = hn::LoadU(d, panel + (k * vectors + v) * lanes);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const auto factor = hn::Set(d, a[r * a_row + k]);
      for (std::size_t v = 0; v < vectors; ++v) {
        sums[r][v] = hn::Add(sums[r][v], hn::Mul(factor, of_b[v]));
      }
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::StoreU(sums[r][v], d, out + r * out_row + v * lanes);
    }
  }
}

// The same of a panel with columns that are not there.
template <std::size_t rows, std::size_t vectors, class T>
HWY_INLINE void add_narrow_tile(const T* a, std::size_t a_row, const T* panel, std::size_t inner,
                                T* out, std::size_t out_row, std::size_t columns) {
  alignas(64) std::array<T, rows * widest_tile<T>> sums{};
  const std::size_t width = vectors * hn::Lanes(Numbers<T>());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) sums[r * width + c] = out[r * out_row + c];
  }
  add_tile<rows, vectors>(a, a_row, panel, inner, sums.data(), width);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out[r * out_row + c] = sums[r * width + c];
  }
}

// Of the last panel.
template <std::size_t rows, std::size_t vectors, class T>
HWY_INLINE void add_last_tile(const T* a, std::size_t a_row, const T* panel, std::size_t inner,
                              T* out, std::size_t out_row, std::size_t columns) {
  if constexpr (vectors > 1) {
    if (vectors_of<T>(columns) < vectors) {
      add_last_tile<rows, vectors - 1>(a, a_row, panel, inner, out, out_row, columns);
      return;
    }
  }
  add_narrow_tile<rows, vectors>(a, a_row, panel, inner, out, out_row, columns);
}

// `rows` rows of out, some of its columns.
template <std::size_t rows, class T>
HWY_INLINE void add_panels(const T* a, std::size_t a_row, const Strip<T>& strip, std::size_t inner,
                           T* out, std::size_t out_row, std::size_t columns) {
  const std::size_t width = tile_vectors * hn::Lanes(Numbers<T>());
  std::size_t column = 0;
  for (; column + width <= columns; column += width) {
    add_tile<rows, tile_vectors>(a, a_row, strip.data() + column * inner, inner, out + column,
                                 out_row);
  }
  if (column == columns) return;
  add_last_tile<rows, tile_vectors>(a, a_row, strip.data() + column * inner, inner, out + column,
                                    out_row, columns - column);
}

// Some columns of out, and some of the products.
template <class T>
HWY_INLINE void add_strip(const MatrixProduct<T>& p, Strip<T>& strip, std::size_t first,
                          std::size_t inner, std::size_t from, std::size_t columns) {
  const std::size_t width = tile_vectors * hn::Lanes(Numbers<T>());
  const T* const b = p.b + first * p.b_row + from;
  std::size_t column = 0;
  for (; column + width <= columns; column += width) {
    pack_whole(b + column, p.b_row, inner, strip.data() + column * inner);
  }
  if (column < columns) {
    pack_narrow(b + column, p.b_row, inner, columns - column, strip.data() + column * inner);
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
  if (p.rows < tile_rows || p.inner == 1) {  // packing would take longer
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
