#include "numerics/clip_search.hpp"

#include <algorithm>
#include <array>

#include "numerics/affine_kernels.hpp"

namespace quadrant::inline v0 {
namespace {

double squared_error(std::span<const float> values, const GroupParameters& parameters,
                     const ScaleRule& rule) {
  const RunParameters run{&parameters.scale, &parameters.zero_point};
  constexpr std::size_t chunk = 1024;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): filled before they are read
  std::array<std::int32_t, chunk> codes;
  std::array<float, chunk> approximations;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  double sum = 0;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), chunk);
    quantize_run<false>(values.data(), codes.data(), count, run,
                        static_cast<std::int32_t>(rule.storage_min),
                        static_cast<std::int32_t>(rule.storage_max));
    dequantize_run<false>(codes.data(), approximations.data(), count, run);
    for (std::size_t i = 0; i < count; ++i) {
      const double error = static_cast<double>(values[i]) - static_cast<double>(approximations[i]);
      sum += error * error;
    }
    values = values.subspan(count);
  }
  return sum;
}

}  // namespace

GroupParameters ClipSearch::best(std::span<const float> values) {
  ValueRange range;
  for (const float value : values) {
    range = {std::min(range.min, value), std::max(range.max, value)};
  }
  GroupParameters best = unsearched_parameters(rule_, Clip::minmax, range);
  double error = squared_error(values, best, rule_);
  const auto consider = [&](const GroupParameters& other) {
    const double other_error = squared_error(values, other, rule_);
    if (!(other_error < error)) return;
    best = other;
    error = other_error;
  };
  consider(unsearched_parameters(rule_, Clip::absmax, range));
  if (error == 0) return best;

  search_.load(values);
  const std::int64_t steps = rule_.storage_max - rule_.storage_min;
  // Above the scale that clips nothing more codes can coincide with weights, which helps where both
  // are few. With many codes it would take long to gain nothing.
  const double reach = steps < 256 ? 2 : 1;
  if (rule_.symmetry == Symmetry::asymmetric) {
    const double width = static_cast<double>(range.max) - static_cast<double>(range.min);
    const double containing = width / static_cast<double>(std::max<std::int64_t>(steps - 1, 1));
    const auto found =
        search_.best({.most = reach * containing, .below = steps, .free_zero = true}, error);
    if (found) consider(usable(rule_, range, found->scale, rule_.storage_min + found->below));
    return best;
  }
  const std::int64_t zero_point = fixed_zero_point(rule_);
  const auto consider_scales = [&](const CodeRange& codes, double sign) {
    const auto found = search_.best(
        {.most = reach * containing_scale(range, codes), .below = -codes.lo, .above = codes.hi},
        error);
    if (found) consider(usable(rule_, range, sign * found->scale, zero_point));
  };
  const CodeRange codes = codes_around(rule_, zero_point);
  consider_scales(codes, 1);
  if (rule_.symmetry == Symmetry::signed_scale && !codes.is_balanced()) {
    consider_scales(codes.mirrored(), -1);
  }
  return best;
}

}  // namespace quadrant::inline v0
