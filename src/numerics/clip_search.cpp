#include "numerics/clip_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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
  above_.magnitudes.clear();
  below_.magnitudes.clear();
  power_ = 0;
  for (const float value : values) {
    if (value > 0) above_.magnitudes.push_back(value);
    if (value < 0) below_.magnitudes.push_back(-value);
    range = {std::min(range.min, value), std::max(range.max, value)};
    power_ += static_cast<double>(value) * static_cast<double>(value);
  }

  const GroupParameters containing = unsearched_parameters(rule_, Clip::minmax, range);
  GroupParameters best = containing;
  double error = squared_error(values, best, rule_);
  const auto consider = [&](const GroupParameters& other) {
    const double other_error = squared_error(values, other, rule_);
    if (!(other_error < error)) return;
    best = other;
    error = other_error;
  };
  consider(unsearched_parameters(rule_, Clip::absmax, range));
  if (error == 0) return best;

  gain_ = power_ - error;
  winner_ = {};
  if (rule_.symmetry == Symmetry::asymmetric) {
    const double width = static_cast<double>(range.max) - static_cast<double>(range.min);
    const std::int64_t steps = rule_.storage_max - rule_.storage_min;
    search_zero_points(width / static_cast<double>(std::max<std::int64_t>(steps - 1, 1)),
                       containing.zero_point);
  } else {
    const std::int64_t zero_point = fixed_zero_point(rule_);
    const CodeRange codes = codes_around(rule_, zero_point);
    sweep(codes, {1, zero_point}, containing_scale(range, codes));
    if (rule_.symmetry == Symmetry::signed_scale && !codes.is_balanced()) {
      const CodeRange mirrored = codes.mirrored();
      sweep(mirrored, {-1, zero_point}, containing_scale(range, mirrored));
    }
  }
  if (winner_.scale != 0) consider(usable(rule_, range, winner_.scale, winner_.zero_point));
  return best;
}

// From `start` outwards, so that good bounds are found early. Further up, more of what is above
// zero is clipped; further down, more of what is below.
void ClipSearch::search_zero_points(double cap, std::int64_t start) {
  const auto sweep_from = [&](std::int64_t zero_point) {
    sweep(codes_around(rule_, zero_point), {1, zero_point}, cap);
  };
  sweep_from(start);
  std::int64_t up = start + 1;
  std::int64_t down = start - 1;
  bool rising = true;
  bool falling = true;
  while (rising || falling) {
    rising = rising && up <= rule_.storage_max &&
             above_.clipping_error(cap, rule_.storage_max - up) < bound();
    if (rising) sweep_from(up++);
    falling = falling && down >= rule_.storage_min &&
              below_.clipping_error(cap, down - rule_.storage_min) < bound();
    if (falling) sweep_from(down--);
  }
}

// `at`: the sign of the scale, and the zero point from which `codes` are seen.
void ClipSearch::sweep(const CodeRange& codes, Winner at, double cap) {
  above_.limit = codes.hi;
  below_.limit = -codes.lo;
  Sums sums;
  sums.clipping_error =
      above_.clipping_error(cap, above_.limit) + below_.clipping_error(cap, below_.limit);
  if (sums.clipping_error >= bound()) return;
  for (Side* const side : {&above_, &below_}) {
    side->codes.clear();
    for (const float magnitude : side->magnitudes) {
      const double value = magnitude;
      const double code = std::min(std::floor(value / cap + 0.5), static_cast<double>(side->limit));
      side->codes.push_back(static_cast<std::int32_t>(code));
      sums.a += value * code;
      sums.b += code * code;
      if (code < static_cast<double>(side->limit)) sums.open += value;
    }
  }
  const auto consider = [&](double gain, double scale) {
    gain_ = gain;
    winner_ = {at.scale * scale, at.zero_point};
  };
  const auto consider_vertex = [&] {
    // Neither multiplies nor divides much: there are many breakpoints.
    if (sums.a * sums.a > gain_ * sums.b && sums.a <= cap * sums.b) {
      consider(sums.a * sums.a / sums.b, sums.a / sums.b);
    }
  };
  const double gain_at_cap = cap * (2 * sums.a - cap * sums.b);
  if (gain_at_cap > gain_) consider(gain_at_cap, cap);
  consider_vertex();

  // Breakpoints are sorted some at a time, of a number that makes up for a pass over the values.
  const auto values = static_cast<double>(above_.magnitudes.size() + below_.magnitudes.size());
  const double wanted = std::max(values / 2, 16.0);
  double high = cap;
  while (sums.open > 0 && sums.clipping_error < bound()) {
    // About `open` / s of them lie above s.
    const double low = 1 / (1 / high + wanted / sums.open);
    breakpoints_.clear();
    sums.clipping_error = 0;
    sums.open = 0;
    advance(above_, low, sums);
    advance(below_, low, sums);
    std::ranges::sort(breakpoints_, std::ranges::greater(), &Breakpoint::scale);
    for (const Breakpoint& breakpoint : breakpoints_) {
      sums.a += static_cast<double>(breakpoint.magnitude);
      sums.b += breakpoint.squares;
      consider_vertex();
    }
    high = low;
  }
}

// Collects the breakpoints down to `low`, and moves the codes there.
void ClipSearch::advance(Side& side, double low, Sums& sums) {
  const auto limit = static_cast<double>(side.limit);
  const double inverse = 1 / low;
  const double reach = low * limit;
  for (std::size_t i = 0; i < side.codes.size(); ++i) {
    const double value = side.magnitudes[i];
    const double code = std::min(value * inverse + 0.5, limit);
    const auto next = static_cast<std::int32_t>(code);
    for (std::int32_t& last = side.codes[i]; last < next; ++last) {
      breakpoints_.push_back(
          {value / (static_cast<double>(last) + 0.5), side.magnitudes[i], 2 * last + 1});
    }
    if (next < side.limit) sums.open += value;
    const double excess = std::max(value - reach, 0.0);
    sums.clipping_error += excess * excess;
  }
}

// When codes end at `at`.
double ClipSearch::Side::clipping_error(double scale, std::int64_t at) const {
  const double reach = scale * static_cast<double>(at);
  double error = 0;
  for (const float magnitude : magnitudes) {
    const double excess = std::max(static_cast<double>(magnitude) - reach, 0.0);
    error += excess * excess;
  }
  return error;
}

}  // namespace quadrant::inline v0
