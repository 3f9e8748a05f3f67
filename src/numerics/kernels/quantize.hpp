// Floats to codes, as fast as they come from memory; the same codes on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numerics/kernels/float16.hpp"

namespace quadrant::inline v0::kernels {

/// Rows of numbers in memory: row r starts at r * real_stride, its codes at r * code_stride.
struct Rows {
  std::size_t count = 0;
  std::size_t length = 0;
  std::size_t real_stride = 0;
  std::size_t code_stride = 0;
  std::size_t ahead = 0;  ///< how far from a number those lie that are needed soon; 0: nowhere

  /// One behind the other.
  [[nodiscard]] static constexpr Rows packed(std::size_t count, std::size_t length,
                                             std::size_t ahead = 0) noexcept {
    return {count, length, length, length, ahead};
  }
};

/// What the numbers of a group are quantized by.
struct Affine {
  const float* scales = nullptr;              ///< one a group, finite and not 0
  const std::int32_t* zero_points = nullptr;  ///< one a group; null: all are `zero_point`
  std::int32_t zero_point = 0;
  std::int32_t min = 0;  ///< the smallest code in use
  std::int32_t max = 0;  ///< the largest
};

/// quantize_value of affine.hpp, for codes of at most 16 bits: `std::int8_t`, `std::uint8_t`,
/// `std::int16_t` and `std::uint16_t`. Numbers are `float` or `Float16`, the latter finite ones
/// alone. Row r is group r. `real` and `codes` do not overlap.
///
/// Where a processor fuses a multiplication and an addition, quotients are products with the
/// reciprocal r of the scale s, corrected by their remainder: q' = q + r (x - q s). Once brings q
/// within one unit in the last place, from where the second time makes it the rounded quotient
/// itself (Markstein, Computation of elementary functions on the IBM RISC System/6000 processor,
/// 1990, theorem on division), unless numbers underflow on the way: scales that are not between
/// 2^-100 and 2^100 by magnitude divide, as do processors without such an instruction.
template <class Code, class Number>
void quantize_rows(const Number* real, Code* codes, const Rows& rows, const Affine& by);

/// The same, where element i of each row is of group i.
template <class Code, class Number>
void quantize_columns(const Number* real, Code* codes, const Rows& rows, const Affine& by);

}  // namespace quadrant::inline v0::kernels
