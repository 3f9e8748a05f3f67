// Finite floats and their exponents.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include "numerics/extremes.hpp"
#include "quadrant/numerics/float_range.hpp"

namespace quadrant::inline v0 {

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
