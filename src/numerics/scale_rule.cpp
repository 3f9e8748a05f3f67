#include "numerics/scale_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/float16.hpp"
#include "ir/scales.hpp"
#include "numerics/affine.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

ScaleRule rule_for(ElementType weights, const ScaleRule& rule) noexcept {
  ScaleRule spaced = rule;
  if (weights == ElementType::float16) spaced.least = std::max(rule.least, float16_spacing);
  return spaced;
}

Expected<void> check(const ScaleRule& rule) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::impossible, std::move(message));
  };
  if (!is_scale_type(rule.scale)) {
    return refuse(fmt::format("scales of type {}: they are f32 or f16", to_string(rule.scale)));
  }
  if (!is_integer(rule.storage) || bit_width(rule.storage) > 16) {
    return refuse(
        fmt::format("codes of type {} are not supported: choose an integer of at most 16 bits",
                    to_string(rule.storage)));
  }
  const IntegerRange range = integer_range(rule.storage).value_or(IntegerRange{});
  if (rule.storage_min >= rule.storage_max || rule.storage_min < range.min ||
      rule.storage_max > range.max) {
    return refuse(fmt::format("codes from {} to {}, where {} holds {} to {}", rule.storage_min,
                              rule.storage_max, to_string(rule.storage), range.min, range.max));
  }
  if (!std::isfinite(rule.least) || rule.least < 0) {
    return refuse(fmt::format("a least scale of {}: it is 0 or more", rule.least));
  }
  if (rule.symmetry == Symmetry::asymmetric) return {};
  const CodeRange codes = codes_around(rule, fixed_zero_point(rule));
  if (codes.lo >= 0 || codes.hi <= 0) {
    return refuse(fmt::format("codes from {} to {} do not lie around the zero point {}",
                              rule.storage_min, rule.storage_max, fixed_zero_point(rule)));
  }
  return {};
}

std::int64_t fixed_zero_point(const ScaleRule& rule) noexcept {
  switch (rule.storage) {
    case ElementType::uint4:
      return 8;
    case ElementType::uint8:
      return 128;
    case ElementType::uint16:
      return 32768;
    default:
      return 0;
  }
}

double containing_scale(const ValueRange& values, const CodeRange& codes) noexcept {
  return std::max(static_cast<double>(values.max) / static_cast<double>(codes.hi),
                  static_cast<double>(values.min) / static_cast<double>(codes.lo));
}

namespace {

std::int64_t zero_point_at(const ScaleRule& rule, const ValueRange& values, double scale) noexcept {
  const double zero_point = std::nearbyint(static_cast<double>(rule.storage_min) -
                                           static_cast<double>(values.min) / scale);
  return std::clamp(static_cast<std::int64_t>(zero_point), rule.storage_min, rule.storage_max);
}

GroupParameters asymmetric_parameters(const ScaleRule& rule, const ValueRange& values) noexcept {
  // The difference is rounded to float32, but where that would be infinite, and the scale is not
  // before the zero point is known: that is how ONNX Runtime's tools do it.
  const float rounded = values.max - values.min;
  const double width = std::isinf(rounded)
                           ? static_cast<double>(values.max) - static_cast<double>(values.min)
                           : static_cast<double>(rounded);
  const double scale = width / static_cast<double>(rule.storage_max - rule.storage_min);
  if (scale == 0) return usable(rule, values, 0, 0);
  return usable(rule, values, scale, zero_point_at(rule, values, scale));
}

double signed_scale(const CodeRange& codes, Clip clip, const ValueRange& values) noexcept {
  if (clip == Clip::minmax) {
    const double positive = containing_scale(values, codes);
    const double negative = containing_scale(values, codes.mirrored());
    return negative < positive ? -negative : positive;
  }
  const float above = values.max;
  const float below = -values.min;
  const bool longer_below = -codes.lo > codes.hi;
  const bool positive = longer_below ? below >= above : above >= below;
  const double scale = static_cast<double>(std::max(above, below)) /
                       static_cast<double>(std::max(-codes.lo, codes.hi));
  return positive ? scale : -scale;
}

constexpr float largest_float = std::numeric_limits<float>::max();

// The scale nearest `scale` at which no code of `values` means infinity.
float finite_scale(const ScaleRule& rule, const ValueRange& values, float scale,
                   std::int64_t zero_point) noexcept {
  const auto distance = [&](float value) {
    const std::int64_t code =
        quantize_value(value, scale, zero_point, rule.storage_min, rule.storage_max);
    return static_cast<float>(std::abs(code - zero_point));
  };
  // A smaller scale may put a value on a code that is further away, so once need not be enough; the
  // distances end at the range's.
  for (;;) {
    const float furthest = std::max(distance(values.min), distance(values.max));
    if (!std::isinf(scale * furthest)) return scale;
    float largest = largest_float / furthest;
    while (std::isinf(largest * furthest)) largest = std::nextafter(largest, 0.0F);
    scale = std::copysign(largest, scale);
  }
}

// The nearest scale that is finite; where it should be float16 and is a normal number there, that
// one.
float as_stored(const ScaleRule& rule, double scale) noexcept {
  constexpr double largest = largest_float;
  const auto single = static_cast<float>(std::clamp(scale, -largest, largest));
  if (rule.scale != ElementType::float16) return single;
  const float half = widen_float16(round_to_float16(single));
  return is_normal_half(half) ? half : single;
}

}  // namespace

bool is_normal_half(float value) noexcept {
  constexpr float least = 0x1p-14F;
  return std::isfinite(value) && std::fabs(value) >= least &&
         widen_float16(round_to_float16(value)) == value;
}

GroupParameters unsearched_parameters(const ScaleRule& rule, Clip clip,
                                      const ValueRange& values) noexcept {
  QUADRANT_ASSERT(clip != Clip::mse);
  const float magnitude = std::max(values.max, -values.min);
  if (rule.symmetry == Symmetry::asymmetric) {
    return asymmetric_parameters(rule,
                                 clip == Clip::absmax ? ValueRange{-magnitude, magnitude} : values);
  }
  const std::int64_t zero_point = fixed_zero_point(rule);
  const CodeRange codes = codes_around(rule, zero_point);
  double scale = 0;
  if (rule.symmetry == Symmetry::signed_scale && !codes.is_balanced()) {
    scale = signed_scale(codes, clip, values);
  } else if (clip == Clip::minmax) {
    scale = containing_scale(values, codes);
  } else {
    scale = 2 * static_cast<double>(magnitude) / static_cast<double>(codes.hi - codes.lo);
  }
  return usable(rule, values, scale, zero_point);
}

GroupParameters usable(const ScaleRule& rule, const ValueRange& values, double scale,
                       std::int64_t zero_point) noexcept {
  float rounded = as_stored(rule, scale);
  // Most are far from where anything below could happen.
  const float magnitude = std::fabs(rounded);
  if (magnitude >= std::max(rule.least, 0x1p-100F) && magnitude <= 0x1p90F) {
    return {rounded, static_cast<std::int32_t>(zero_point)};
  }
  if (std::fabs(rounded) < std::numeric_limits<float>::min()) {
    if (rule.symmetry == Symmetry::asymmetric) {
      zero_point = std::clamp<std::int64_t>(0, rule.storage_min, rule.storage_max);
    }
    return {1.0F, static_cast<std::int32_t>(zero_point)};
  }
  if (std::fabs(rounded) < rule.least) {
    rounded = std::copysign(rule.least, rounded);
    if (rule.symmetry == Symmetry::asymmetric) {
      zero_point = zero_point_at(rule, values, static_cast<double>(rounded));
    }
  }
  const CodeRange codes = codes_around(rule, zero_point);
  const auto furthest = static_cast<float>(std::max(codes.hi, -codes.lo));
  return {
      std::isinf(rounded * furthest) ? finite_scale(rule, values, rounded, zero_point) : rounded,
      static_cast<std::int32_t>(zero_point)};
}

}  // namespace quadrant::inline v0
