#include "numerics/range_encoding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrant::inline v0 {
namespace {

RealRange with_zero(const RealRange& range) noexcept {
  return {std::min(range.min, 0.0), std::max(range.max, 0.0)};
}

RealRange widened(RealRange range, double minimum) noexcept {
  range.max = std::max(range.max, range.min + minimum);
  return range;
}

// Without what would make a code infinite as float32.
RealRange limited(const RealRange& range, int bits) noexcept {
  const double most = std::numeric_limits<float>::max() * (1 - std::ldexp(1, 1 - bits));
  return {std::max(range.min, -most), std::min(range.max, most)};
}

// With zero, and of the minimum width.
RealRange spanned(const RealRange& range, const EncodingRule& rule) noexcept {
  return limited(rule.minimum_range_order == MinimumRangeOrder::before_zero
                     ? with_zero(widened(range, rule.minimum_range))
                     : widened(with_zero(range), rule.minimum_range),
                 rule.bits);
}

// Whether the zero point does not depend on the range, or on no more than its sign.
bool is_symmetric(const EncodingRule& rule) noexcept {
  return rule.symmetry != EncodingSymmetry::asymmetric;
}

// The zero point of a symmetric encoding; of an asymmetric one, where the range says nothing.
std::int64_t fixed_zero_point(const RealRange& range, const EncodingRule& rule) noexcept {
  if (rule.symmetry == EncodingSymmetry::symmetric_unsigned && range.min >= 0) return 0;
  return is_symmetric(rule) ? (steps_of(rule) + 1) / 2 : 0;
}

std::int64_t rounded_zero_point(const RealRange& range, const EncodingRule& rule) noexcept {
  const auto steps = static_cast<double>(steps_of(rule));
  return static_cast<std::int64_t>(
      round_to_integer(-range.min * steps / (range.max - range.min), rule.rounding.ties));
}

Encoding adjusted(const RealRange& range, const EncodingRule& rule) noexcept {
  const std::int64_t steps = steps_of(rule);
  // Infinite where a side has values but no codes.
  const auto scale_at = [&](std::int64_t zero_point) {
    const double below = range.min < 0 ? -range.min / static_cast<double>(zero_point) : 0;
    const double above = range.max > 0 ? range.max / static_cast<double>(steps - zero_point) : 0;
    return std::max(below, above);
  };
  const auto exact = -range.min * static_cast<double>(steps) / (range.max - range.min);
  const std::int64_t lower = std::min(static_cast<std::int64_t>(exact), steps - 1);
  const std::int64_t best = scale_at(lower + 1) < scale_at(lower) ? lower + 1 : lower;
  return encoding_of(scale_at(best), best, rule);
}

bool is_usable(double scale) noexcept {
  return scale >= static_cast<double>(std::numeric_limits<float>::min());
}

}  // namespace

std::int64_t steps_of(const EncodingRule& rule) noexcept {
  const std::int64_t steps = (std::int64_t{1} << rule.bits) - 1;
  return rule.symmetry == EncodingSymmetry::symmetric_strict ? steps - 1 : steps;
}

Encoding encoding_of(double scale, std::int64_t zero_point, const EncodingRule& rule) noexcept {
  const std::int64_t steps = steps_of(rule);
  return {.bits = rule.bits,
          .steps = steps,
          .scale = scale,
          .zero_point = zero_point,
          .min = zero_point == 0 ? 0 : -scale * static_cast<double>(zero_point),
          .max = scale * static_cast<double>(steps - zero_point),
          .symmetric = is_symmetric(rule)};
}

Encoding encoding_of(const RealRange& range, const EncodingRule& rule) noexcept {
  const RealRange span = spanned(range, rule);
  const std::int64_t steps = steps_of(rule);
  const std::int64_t fixed = fixed_zero_point(span, rule);
  const double scale = is_symmetric(rule)
                           ? std::max(-span.min, span.max) / static_cast<double>(steps - fixed)
                           : (span.max - span.min) / static_cast<double>(steps);
  if (!is_usable(scale)) return encoding_of(1, fixed, rule);
  if (is_symmetric(rule)) return encoding_of(scale, fixed, rule);
  if (rule.method == EncodingMethod::adjusted_weights) return adjusted(span, rule);
  return encoding_of(scale, rounded_zero_point(span, rule), rule);
}

Encoding encoding_with_ends(const RealRange& range, const EncodingRule& rule) noexcept {
  if (!is_symmetric(rule)) {
    EncodingRule plain = rule;
    plain.method = EncodingMethod::minmax;
    plain.minimum_range = 0;
    return encoding_of(range, plain);
  }
  const RealRange span = limited(with_zero(range), rule.bits);
  const std::int64_t fixed = fixed_zero_point(span, rule);
  const double above = span.max / static_cast<double>(steps_of(rule) - fixed);
  const double below = fixed == 0 ? 0 : -span.min / static_cast<double>(fixed);
  const double scale = std::max(above, below);
  return encoding_of(is_usable(scale) ? scale : 1, fixed, rule);
}

}  // namespace quadrant::inline v0
