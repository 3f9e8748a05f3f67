#include "numerics/kernels/transpose.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/transpose.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t tile = 16;

HWY_INLINE void transpose_part(const std::uint8_t* from, std::size_t from_stride, std::size_t rows,
                               std::size_t columns, std::uint8_t* to, std::size_t to_stride) {
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      to[column * to_stride + row] = from[row * from_stride + column];
    }
  }
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
// Mixing row r with row r + 8 moves the first bit of a byte's place, which is its row's 4 bits
// before its column's, to the end. Four times make the columns' bits the first.
HWY_INLINE void transpose_tile(const std::uint8_t* from, std::size_t from_stride, std::uint8_t* to,
                               std::size_t to_stride) {
  const hn::FixedTag<std::uint8_t, tile> bytes;
  hn::Vec<decltype(bytes)> rows[tile];   // NOLINT(*-avoid-c-arrays): registers
  hn::Vec<decltype(bytes)> mixed[tile];  // NOLINT(*-avoid-c-arrays): registers
  for (std::size_t i = 0; i < tile; ++i) rows[i] = hn::LoadU(bytes, from + i * from_stride);
  for (int bit = 0; bit < 4; ++bit) {
    for (std::size_t i = 0; i < tile / 2; ++i) {
      mixed[2 * i] = hn::InterleaveLower(bytes, rows[i], rows[i + tile / 2]);
      mixed[2 * i + 1] = hn::InterleaveUpper(bytes, rows[i], rows[i + tile / 2]);
    }
    for (std::size_t i = 0; i < tile; ++i) rows[i] = mixed[i];
  }
  for (std::size_t i = 0; i < tile; ++i) hn::StoreU(rows[i], bytes, to + i * to_stride);
}
#else
HWY_INLINE void transpose_tile(const std::uint8_t* from, std::size_t from_stride, std::uint8_t* to,
                               std::size_t to_stride) {
  transpose_part(from, from_stride, tile, tile, to, to_stride);
}
#endif

void transpose(const std::byte* source, std::size_t from_stride, std::size_t rows,
               std::size_t columns, std::byte* target, std::size_t to_stride) {
  if (rows == 0 || columns == 0) return;  // There may be no memory to point into.
  const auto* const from = reinterpret_cast<const std::uint8_t*>(source);
  auto* const to = reinterpret_cast<std::uint8_t*>(target);
  const std::size_t whole_rows = rows / tile * tile;
  const std::size_t whole_columns = columns / tile * tile;
  // Four tiles below one another fill a line of the cache in the result.
  constexpr std::size_t band = 4 * tile;
  for (std::size_t first = 0; first < whole_rows; first += band) {
    const std::size_t end = std::min(whole_rows, first + band);
    for (std::size_t column = 0; column < whole_columns; column += tile) {
      for (std::size_t row = first; row < end; row += tile) {
        transpose_tile(from + row * from_stride + column, from_stride,
                       to + column * to_stride + row, to_stride);
      }
    }
  }
  transpose_part(from + whole_columns, from_stride, whole_rows, columns - whole_columns,
                 to + whole_columns * to_stride, to_stride);
  transpose_part(from + whole_rows * from_stride, from_stride, rows - whole_rows, columns,
                 to + whole_rows, to_stride);
}

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

HWY_EXPORT(transpose);

void transpose_bytes(const std::byte* from, std::size_t from_stride, std::size_t rows,
                     std::size_t columns, std::byte* to, std::size_t to_stride) noexcept {
  HWY_DYNAMIC_DISPATCH(transpose)(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace quadrant::inline v0::kernels
#endif
