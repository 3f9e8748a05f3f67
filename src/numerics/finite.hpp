// Finite floats and their exponents.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

// The bit pattern of a value without its sign: as integers these order as the magnitudes do, and
// infinity and NaN are above all others. Unlike a maximum of floats, one of integers may be
// reordered, so that compilers vectorise it.
[[nodiscard]] inline std::int32_t magnitude_bits(float value) noexcept {
  return std::bit_cast<std::int32_t>(value) & 0x7fffffff;
}

/// Whether none of `values` is NaN or infinite.
[[nodiscard]] inline bool are_finite(std::span<const float> values) noexcept {
  // Carried into the sign's place from infinity's bits on. A maximum would take more instructions.
  constexpr std::uint32_t above_infinity = 0x80000000 - 0x7f800000;
  std::uint32_t carries = 0;
  for (const float value : values) {
    carries |= static_cast<std::uint32_t>(magnitude_bits(value)) + above_infinity;
  }
  return (carries & 0x80000000) == 0;
}

/// The finite ones among `values`, in order, copied to `buffer`.
[[nodiscard]] inline std::span<const float> finite_part(std::span<const float> values,
                                                        std::vector<float>& buffer) {
  buffer.clear();
  std::ranges::copy_if(values, std::back_inserter(buffer),
                       [](float value) { return std::isfinite(value); });
  return buffer;
}

/// The least e of at least -126 with |value| < 2^e for a finite value.
[[nodiscard]] inline int exponent_above(float value) noexcept {
  constexpr int mantissa_bits = 23;
  constexpr int bias = 126;
  return (magnitude_bits(value) >> mantissa_bits) - bias;
}

/// Hands `values` to `visit(finite, range)` in pieces of at most `piece_values`, each with its
/// range; what is not finite is left out, and nothing is handed on where nothing is left.
template <class Visit>
void for_each_finite_piece(std::span<const float> values, std::size_t piece_values, Visit visit) {
  std::vector<float> buffer;
  while (!values.empty()) {
    std::span<const float> piece = values.first(std::min(values.size(), piece_values));
    values = values.subspan(piece.size());
    FloatRange range = range_of(piece);
    if (!range.is_finite()) {
      piece = finite_part(piece, buffer);
      if (piece.empty()) continue;
      range = range_of(piece);
    }
    visit(piece, range);
  }
}

}  // namespace quadrant::inline v0
