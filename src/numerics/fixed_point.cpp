#include "numerics/fixed_point.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quadrant::inline v0 {
namespace {

__extension__ using Int128 = __int128;

tl::unexpected<Error> leaves_64_bits(const char* what, std::int64_t a, std::int64_t b) {
  return fail(ErrorCode::impossible,
              fmt::format("the {} of {} and {} does not fit into 64 bits", what, a, b));
}

}  // namespace

double to_real(const ScaledValue& scaled) noexcept {
  return static_cast<double>(scaled.value) * scaled.scale;
}

double to_real(const AffineValue& affine) noexcept {
  // The difference of two 64-bit integers has 65 bits, and is to be rounded once.
  return static_cast<double>(static_cast<Int128>(affine.value) - affine.zero_point) * affine.scale;
}

AffineValue quantize_real(float real, float scale, std::int64_t zero_point,
                          const IntegerRange& codes, TieRule ties) noexcept {
  RoundingProfile profile = RoundingProfile::mlir();
  profile.ties = ties;
  const auto wide = static_cast<double>(scale);
  return {
      quantize_value(static_cast<double>(real), wide, zero_point, codes.min, codes.max, profile),
      wide, zero_point};
}

Expected<ScaledValue> to_scaled(const AffineValue& affine) {
  ScaledValue scaled{.scale = affine.scale};
  if (__builtin_sub_overflow(affine.value, affine.zero_point, &scaled.value)) {
    return leaves_64_bits("difference", affine.value, affine.zero_point);
  }
  return scaled;
}

Expected<AffineValue> to_affine(const ScaledValue& scaled, std::int64_t zero_point) {
  AffineValue affine{.scale = scaled.scale, .zero_point = zero_point};
  if (__builtin_add_overflow(scaled.value, zero_point, &affine.value)) {
    return leaves_64_bits("sum", scaled.value, zero_point);
  }
  return affine;
}

Expected<ScaledValue> product(const ScaledValue& a, const ScaledValue& b) {
  ScaledValue made{.scale = a.scale * b.scale};
  if (__builtin_mul_overflow(a.value, b.value, &made.value)) {
    return leaves_64_bits("product", a.value, b.value);
  }
  if (!std::isfinite(made.scale) || made.scale <= 0) {
    return fail(ErrorCode::impossible,
                fmt::format("the product of the scales {} and {} is no number above zero", a.scale,
                            b.scale));
  }
  return made;
}

Expected<ScaledValue> sum(const ScaledValue& a, const ScaledValue& b) {
  if (a.scale != b.scale) {
    return fail(ErrorCode::impossible,
                fmt::format("values of the scales {} and {} cannot be added: bring them to one "
                            "scale first",
                            a.scale, b.scale));
  }
  ScaledValue made{.scale = a.scale};
  if (__builtin_add_overflow(a.value, b.value, &made.value)) {
    return leaves_64_bits("sum", a.value, b.value);
  }
  return made;
}

}  // namespace quadrant::inline v0
