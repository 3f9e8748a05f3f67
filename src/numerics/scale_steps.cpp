#include "numerics/scale_steps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace quadrant::inline v0 {
namespace {

// Runtimes may take subnormal numbers of float32 and bfloat16 for zero: they are left out. Zero is
// not theirs, either: formats refuse it.
constexpr std::int64_t first_normal = 0x00800000;
constexpr std::int64_t last_finite = 0x7f7fffff;

}  // namespace

ScaleSteps ScaleSteps::free() {
  ScaleSteps steps;
  steps.first_ = first_normal;
  steps.last_ = last_finite;
  return steps;
}

ScaleSteps::ScaleSteps(const ScaleLevel& level, float outer, bool negative) : outer_(outer) {
  if (const auto* integer = std::get_if<IntegerCode>(&level.type)) {
    kind_ = Kind::integer;
    first_ = std::max<std::int64_t>(negative ? 1 : integer->min, 0);
    last_ = negative ? -integer->min : integer->max;
    return;
  }
  const ElementType type = std::get<FloatScale>(level.type).type;
  if (const auto layout = small_float(type)) {
    kind_ = Kind::small;
    small_ = *layout;
    last_ = small_.finite - 1;
  } else if (type == ElementType::float16) {
    kind_ = Kind::float16;
    last_ = 0x7bff;
  } else if (type == ElementType::bfloat16) {
    kind_ = Kind::bfloat16;
    first_ = first_normal >> 16;
    last_ = last_finite >> 16;
  } else {
    first_ = first_normal;
    last_ = last_finite;
  }
}

void ScaleSteps::limit(double largest) noexcept {
  last_ = std::max(std::min(last_, at_most(largest)), first_above_zero());
}

std::int64_t ScaleSteps::first_above_zero() const noexcept {
  return first_ == 0 && number(0) == 0 ? 1 : first_;
}

std::int64_t ScaleSteps::at_most(double value) const noexcept {
  if (!(outer_ > 0)) return last_;  // all are 0
  // About there; then exactly, since products are rounded.
  const double number_wanted = value / static_cast<double>(outer_);
  constexpr auto largest = static_cast<double>(std::numeric_limits<float>::max());
  const auto single = static_cast<float>(std::min(number_wanted, largest));
  std::int64_t step = 0;
  switch (kind_) {
    case Kind::integer:
      step = static_cast<std::int64_t>(std::min(number_wanted, 1e9));
      break;
    case Kind::float32:
      step = std::bit_cast<std::int32_t>(single);
      break;
    case Kind::float16:
      step = round_to_float16(single);
      break;
    case Kind::bfloat16:
      step = std::bit_cast<std::int32_t>(single) >> 16;
      break;
    case Kind::small: {
      const float least_normal = number(std::int64_t{1} << small_.mantissa);
      const std::int64_t bits = std::bit_cast<std::int32_t>(single);
      constexpr int float_mantissa = 23;
      constexpr std::int64_t float_bias = 127;
      const std::int64_t normal = (bits >> (float_mantissa - small_.mantissa)) -
                                  ((float_bias - small_.bias) << small_.mantissa);
      const bool is_subnormal = small_.has_sign && single < least_normal;
      step = is_subnormal ? static_cast<std::int64_t>(single / number(1)) : normal;
      break;
    }
  }
  step = std::clamp(step, first_ - 1, last_);
  while (step >= first_ && static_cast<double>(this->value(step)) > value) --step;
  while (step < last_ && static_cast<double>(this->value(step + 1)) <= value) ++step;
  return step;
}

std::int64_t ScaleSteps::nearest(double value) const noexcept {
  const std::int64_t below = std::clamp(at_most(value), first_, last_);
  if (below == last_) return below;
  const double to_below = std::fabs(value - static_cast<double>(this->value(below)));
  return static_cast<double>(this->value(below + 1)) - value < to_below ? below + 1 : below;
}

}  // namespace quadrant::inline v0
