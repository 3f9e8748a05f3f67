#include "numerics/scale_search.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace quadrant::inline v0 {
namespace {

// Of sums, as a part of gamma sum w^2.
constexpr double rounding = 1e-13;

}  // namespace

void ScaleSearch::load(std::span<const float> values) {
  sorted_.assign(values.begin(), values.end());
  std::ranges::sort(sorted_);
  above_.clear();
  below_.clear();
  const auto zero = std::ranges::lower_bound(sorted_, 0.0F);
  for (auto value = zero; value != sorted_.begin();) {
    below_.append(-static_cast<double>(*--value), 1);
  }
  for (auto value = zero; value != sorted_.end(); ++value) {
    if (*value > 0) above_.append(static_cast<double>(*value), 1);
  }
  above_.finish();
  below_.finish();
}

void ScaleSearch::load(std::span<const WeightedValue> values) {
  above_.clear();
  below_.clear();
  for (const WeightedValue& value : values) {
    if (value.value > 0) above_.append(value.value, static_cast<double>(value.count));
  }
  for (const WeightedValue& value : std::views::reverse(values)) {
    if (value.value < 0) below_.append(-value.value, static_cast<double>(value.count));
  }
  above_.finish();
  below_.finish();
}

ScaleSearch::Interval ScaleSearch::Interval::between(const Sample& low,
                                                     const Sample& high) noexcept {
  // gain / s is a - b s: a line.
  const double at_low = low.gain / low.scale;
  const double at_high = high.gain / high.scale;
  const double width = high.scale - low.scale;
  const double b = (at_low - at_high) / width;
  const double a = at_low + b * low.scale;
  Interval interval{low, high, (low.scale + high.scale) / 2, std::max(low.gain, high.gain)};
  const double vertex = a / (2 * b);
  if (b > 0 && vertex > low.scale && vertex < high.scale) {
    interval.vertex = vertex;
    // Not a^2 / 4b, which is not exact where the ends are close together.
    interval.bound = vertex * (at_low - b * (vertex - low.scale));
  }
  return interval;
}

std::optional<FoundScale> ScaleSearch::best(const ScaleDomain& domain, double bound) {
  domain_ = domain;
  found_.reset();
  looks_ = 0;
  intervals_.clear();
  all_ = domain_.gamma * power();
  best_gain_ = all_ - bound;
  if (bound <= rounding * all_ || !(domain_.most > domain_.least)) return found_;

  // Halves, until what is clipped costs too much.
  Sample high = look_at(domain_.most);
  while (high.scale > domain_.least && least_clipping_cost(high.scale) < all_ - gain_to_beat()) {
    const Sample low = look_at(std::max(high.scale / 2, domain_.least));
    push(Interval::between(low, high));
    high = low;
  }
  while (!intervals_.empty() && looks_ < most_looks) {
    const Interval interval = intervals_.front();
    if (interval.bound <= gain_to_beat()) break;
    std::ranges::pop_heap(intervals_, {}, &Interval::bound);
    intervals_.pop_back();
    const Sample middle = look_at(interval.vertex);
    push(Interval::between(interval.low, middle));
    push(Interval::between(middle, interval.high));
  }
  if (found_) {
    best_gain_ -= rounding * all_;  // equal ones shall count
    look_at(vertex_of(*found_));
  }
  return found_;
}

void ScaleSearch::push(const Interval& interval) {
  if (!(interval.bound > gain_to_beat())) return;
  constexpr double resolution = 1e-12;
  if (interval.high.scale - interval.low.scale <= resolution * interval.high.scale) return;
  intervals_.push_back(interval);
  std::ranges::push_heap(intervals_, {}, &Interval::bound);
}

// By what cannot be told from rounding; and where bounds do not become exact, by a little of the
// cost, since there can be a plateau: all scales at which every code is 0, say.
double ScaleSearch::gain_to_beat() const noexcept {
  const double share = domain_.gamma == 1 ? 0 : 1e-7;
  return best_gain_ + rounding * all_ + share * (all_ - best_gain_);
}

ScaleSearch::Sample ScaleSearch::look_at(double scale) {
  const std::int64_t codes = domain_.below + domain_.above;
  const std::int64_t above = domain_.free_zero ? best_codes_above(scale) : domain_.above;
  const double sum = gain(above_, scale, above) + gain(below_, scale, codes - above);
  looks_ +=
      std::min(static_cast<double>(codes), static_cast<double>(above_.size() + below_.size()));
  if (sum > best_gain_) {
    best_gain_ = sum;
    found_ = {scale, codes - above};
  }
  return {scale, sum};
}

double ScaleSearch::gain(const Magnitudes& side, double scale, std::int64_t codes) const {
  const Magnitudes::Moments moments = side.moments(scale, codes);
  const double gain = scale * (2 * moments.a - scale * moments.b);
  if (domain_.gamma == 1) return gain;
  const double reach = scale * static_cast<double>(codes);
  return gain + (domain_.gamma - 1) * (side.all().power - side.above(reach).error_of(reach));
}

// Where the parabola of its codes, and of what is clipped, is highest.
double ScaleSearch::vertex_of(const FoundScale& found) const {
  double a = 0;
  double b = 0;
  const auto add = [&](const Magnitudes& side, std::int64_t codes) {
    const Magnitudes::Moments moments = side.moments(found.scale, codes);
    const auto last = static_cast<double>(codes);
    const Magnitudes::Tail& clipped = side.above(found.scale * last);
    a += moments.a + (domain_.gamma - 1) * last * clipped.sum;
    b += moments.b + (domain_.gamma - 1) * last * last * clipped.count;
  };
  add(above_, domain_.below + domain_.above - found.below);
  add(below_, found.below);
  return b > 0 ? std::clamp(a / b, domain_.least, domain_.most) : found.scale;
}

// The cost of `codes` minus that of codes + 1, not negative and falling: values beyond the last
// code's reach, of which those in the upper half of the next step get the new code.
double ScaleSearch::saved_by_one_more(const Magnitudes& side, double scale,
                                      std::int64_t codes) const {
  const double reach = scale * static_cast<double>(codes);
  const double next = scale * static_cast<double>(codes + 1);
  const Magnitudes::Tail& moved = side.above((reach + next) / 2);
  const double saved = scale * (2 * moved.sum - (reach + next) * moved.count);
  if (domain_.gamma == 1) return saved;
  return saved + (domain_.gamma - 1) *
                     (side.above(reach).error_of(reach) - side.above(next).error_of(next));
}

std::int64_t ScaleSearch::best_codes_above(double scale) const {
  const std::int64_t codes = domain_.below + domain_.above;
  const auto gives_way = [&](std::int64_t above) {
    return saved_by_one_more(above_, scale, above) >
           saved_by_one_more(below_, scale, codes - above - 1);
  };
  std::int64_t low = 0;
  std::int64_t high = codes;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (gives_way(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// At this scale or any smaller one; where zero is free, as if all codes were on both sides.
double ScaleSearch::least_clipping_cost(double scale) const {
  const std::int64_t codes = domain_.below + domain_.above;
  const auto cost = [&](const Magnitudes& side, std::int64_t count) {
    const double reach = scale * static_cast<double>(count);
    return side.above(reach).error_of(reach);
  };
  return domain_.gamma * (cost(above_, domain_.free_zero ? codes : domain_.above) +
                          cost(below_, domain_.free_zero ? codes : domain_.below));
}

}  // namespace quadrant::inline v0
