// Fixed point and affine values, one at a time, and what may be computed with them: the definitions
// of MLIR's quantization design (https://mlir.llvm.org/docs/Quantization).
//
//   real = scaled * scale = (affine - zero point) * scale
//
// Scaled values are multiplied and, of one scale, added as their integers are; affine values are
// not: they are made scaled ones first. Whole tensors: numerics/encode.hpp.
#pragma once

#include <cstdint>

#include "quadrant/ir/constant.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A multiple of `scale`, which is above zero and finite.
struct ScaledValue {
  std::int64_t value = 0;
  double scale = 1;
  friend bool operator==(const ScaledValue&, const ScaledValue&) = default;
};

/// The same, shifted so that real zero is `zero_point`.
struct AffineValue {
  std::int64_t value = 0;
  double scale = 1;
  std::int64_t zero_point = 0;
  friend bool operator==(const AffineValue&, const AffineValue&) = default;
};

/// In float64: the integer, or the difference, and its product with the scale are each rounded
/// where they are no float64.
[[nodiscard]] double to_real(const ScaledValue& scaled) noexcept;
[[nodiscard]] double to_real(const AffineValue& affine) noexcept;

/// clamp(round(real / scale) + zero_point): "Real to affine". The quotient is float32's, ties as
/// `ties` says; NaN becomes the zero point. Zero is exact. Inside the range of `codes` the error is
/// scale / 2 at most, and |real| / 2^24 more, which float32 may take from the quotient: little for
/// codes of up to 16 bits, but many scales for those of 32. `scale` is above zero and finite,
/// `zero_point` one of `codes`, which are of at most 32 bits.
///
///   quantize_real(2.5F, 1.0F, 0, {-128, 127})                        ->  2
///   quantize_real(2.5F, 1.0F, 0, {-128, 127}, TieRule::half_away)    ->  3
[[nodiscard]] AffineValue quantize_real(float real, float scale, std::int64_t zero_point,
                                        const IntegerRange& codes,
                                        TieRule ties = TieRule::half_even) noexcept;

/// "Affine to fixed point": the zero point is subtracted. `impossible` where that leaves 64 bits.
[[nodiscard]] Expected<ScaledValue> to_scaled(const AffineValue& affine);

/// "Fixed point to affine", of the same scale: the zero point is added. `impossible` where that
/// leaves 64 bits.
[[nodiscard]] Expected<AffineValue> to_affine(const ScaledValue& scaled, std::int64_t zero_point);

/// The product of both, whose scale is the product of theirs. `impossible` where it leaves 64 bits,
/// or its scale is no finite number above zero.
[[nodiscard]] Expected<ScaledValue> product(const ScaledValue& a, const ScaledValue& b);

/// `impossible` for different scales, and where the sum leaves 64 bits.
[[nodiscard]] Expected<ScaledValue> sum(const ScaledValue& a, const ScaledValue& b);

}  // namespace quadrant::inline v0
