#include "numerics/coded_range.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

// The integral of the squared error of rounding, from `low` up to `real`, in cubed steps: between
// codes a twelfth for each that was passed, outside a parabola's.
double error_up_to(double real, const CodedRange& range) {
  const double held = std::clamp(real, range.low, range.high);
  const double place = (held - range.low) / range.step;
  const double passed = std::nearbyint(place);
  const double beyond = (real - held) / range.step;
  return passed / 12 + (std::pow(place - passed, 3) + std::pow(beyond, 3)) / 3;
}

// The mean squared error of values that are spread evenly from `first` to `last`.
double mean_error(double first, double last, const CodedRange& range) {
  const double sum = error_up_to(last, range) - error_up_to(first, range);
  return sum * range.step / (last - first) * range.step * range.step;
}

}  // namespace

double CodedRange::rounded(double real) const noexcept {
  const double held = std::clamp(real, low, high);
  return std::min(high, low + step * std::nearbyint((held - low) / step));
}

bool CodedRange::clips(double real) const noexcept {
  return real < low - step / 2 || real > high + step / 2;
}

Expected<std::optional<CodedRange>> coded_range(const Quantization& type) {
  const ScaledFormat scaled = scaled_format(type);
  const auto* const code = std::get_if<IntegerCode>(&scaled.format.code);
  if (code == nullptr || scaled.format.offset == Offset::minimum) return std::nullopt;
  double scale = 1;
  for (const Constant& level : scaled.scales) {
    QUADRANT_TRY(const std::vector<float> scales, read_scales(level));
    if (scales.size() != 1) return std::nullopt;
    scale *= static_cast<double>(scales[0]);
  }
  QUADRANT_TRY(const std::vector<std::int64_t> zeros, read_zero_points(type));
  const auto end = [&](std::int64_t code) { return scale * static_cast<double>(code - zeros[0]); };
  const auto [low, high] = std::minmax({end(code->min), end(code->max)});
  return CodedRange{low, high, std::fabs(scale), zeros[0]};
}

CodingEffect coding_effect(const Histogram& values, const CodedRange& range) {
  CodingEffect effect;
  const auto min = static_cast<double>(values.min());
  const auto max = static_cast<double>(values.max());
  const double half = values.bin_width() / 2;
  for (const WeightedValue& each : values.values()) {
    const auto count = static_cast<double>(each.count);
    const double rounded = range.rounded(each.value);
    effect.count += each.count;
    if (range.clips(each.value)) effect.clipped += each.count;
    if (rounded <= range.low) effect.at_low += each.count;
    if (rounded > range.high - range.step / 2) effect.at_high += each.count;
    effect.signal += count * each.value * each.value;
    // These three are known as they are.
    const bool is_exact = each.value == 0 || each.value == min || each.value == max;
    const double error = each.value - rounded;
    effect.noise += count * (is_exact ? error * error
                                      : mean_error(std::max(min, each.value - half),
                                                   std::min(max, each.value + half), range));
  }
  return effect;
}

}  // namespace quadrant::inline v0
