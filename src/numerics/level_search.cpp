#include "numerics/level_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "numerics/finite.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t few_values = 512;
constexpr std::size_t compared_at_once = 4;
constexpr unsigned half_octave = 22;         // bits of a float below those that tell them apart
constexpr double rounding_of_gains = 1e-13;  // as a part of the power

// Whether a parabola between two scales is sure not to rise above `best`: it is above its higher
// end by (1 + ratio)^2 / (4 ratio) at most, if that is above 0, and off by `raised` / low. All is
// multiplied by four times both scales, since divisions take longer.
bool stays_below(double best, double higher, double raised, double low, double high) noexcept {
  const double sum = low + high;
  return std::max(higher, 0.0) * sum * sum + 4 * raised * high <= 4 * best * low * high;
}

}  // namespace

void LevelSearch::load(std::span<const float> values, std::span<const float> weights) {
  count_ = values.size();
  constexpr std::size_t lanes = 8;
  const std::size_t padded = (count_ + lanes - 1) / lanes * lanes;
  values_.assign(padded, 0.0F);
  weights_.assign(padded, 0.0F);
  std::ranges::copy(values, values_.begin());
  std::ranges::copy(weights, weights_.begin());
  shift_ = weight_ = sum_ = power_ = 0;
  least_weight_ = std::numeric_limits<float>::max();
  largest_weight_ = 0;
  std::size_t largest = 0;
  std::size_t smallest = 0;
  std::size_t heaviest = 0;
  double most_power = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const auto w = static_cast<double>(values[i]);
    const auto h = static_cast<double>(weights[i]);
    const double power = h * w * w;
    weight_ += h;
    sum_ += h * w;
    power_ += power;
    largest_weight_ = std::max(largest_weight_, weights[i]);
    if (weights[i] > 0) least_weight_ = std::min(least_weight_, weights[i]);
    if (values[i] > values[largest]) largest = i;
    if (values[i] < values[smallest]) smallest = i;
    if (power > most_power) heaviest = i;
    most_power = std::max(most_power, power);
  }
  const auto extreme = [&](std::size_t i) {
    return i < count_ ? Extreme{values[i], weights[i]} : Extreme{};
  };
  largest_ = extreme(largest);
  smallest_ = extreme(smallest);
  heaviest_ = extreme(heaviest);
  powers_.fill(0);
  largest_bits_ = std::max(magnitude_bits(largest_.value), magnitude_bits(smallest_.value));
  for (std::size_t i = 0; i < count_; ++i) {
    const auto below = static_cast<std::size_t>(largest_bits_ - magnitude_bits(values[i]));
    const auto w = static_cast<double>(values[i]);
    powers_[std::min(below >> half_octave, powers_.size() - 1)] +=
        static_cast<double>(weights[i]) * w * w;
  }
  sorted_.clear();
  if (count_ <= few_values) return;
  std::vector<std::uint32_t> order(count_);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return values[i]; });
  weights_before_.assign(1, 0);
  sums_before_.assign(1, 0);
  for (const std::uint32_t i : order) {
    const auto h = static_cast<double>(weights[i]);
    sorted_.push_back(values[i]);
    weights_before_.push_back(weights_before_.back() + h);
    sums_before_.push_back(sums_before_.back() + h * static_cast<double>(values[i]));
  }
  find_parts();
}

void LevelSearch::find_parts() {
  constexpr double parts_of_a_value = 2;
  most_parts_ = parts_of_a_value * static_cast<double>(count_);
  const double range = static_cast<double>(sorted_.back()) - static_cast<double>(sorted_.front());
  parts_ = range > 0 ? most_parts_ / range : 0;
  begins_.clear();
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t part = part_of(static_cast<double>(sorted_[i]));
    if (begins_.size() <= part) begins_.resize(part + 1, static_cast<std::uint32_t>(i));
  }
  begins_.push_back(static_cast<std::uint32_t>(count_));
  sorted_.insert(sorted_.end(), compared_at_once, std::numeric_limits<float>::infinity());
}

// Of two values, the larger one has no lower part: each step of this keeps the order.
std::size_t LevelSearch::part_of(double value) const noexcept {
  const double place = (value - static_cast<double>(sorted_.front())) * parts_;
  return static_cast<std::size_t>(std::clamp(place, 0.0, most_parts_));
}

std::size_t LevelSearch::count_below(double bound) const noexcept {
  const std::size_t part = part_of(bound);
  if (part + 1 >= begins_.size()) return count_;
  const std::size_t begin = begins_[part];
  const float* const values = sorted_.data() + begin;
  const std::size_t count = begins_[part + 1] - begin;
  const auto is_below = [](float value, double limit) {
    return static_cast<double>(value) < limit;
  };
  if (count > compared_at_once) {
    return begin + static_cast<std::size_t>(
                       std::lower_bound(values, values + count, bound, is_below) - values);
  }
  // Those behind the part are not below.
  std::size_t below = 0;
  for (std::size_t i = 0; i < compared_at_once; ++i) {
    below += static_cast<std::size_t>(is_below(values[i], bound));
  }
  return begin + below;
}

void LevelSearch::shift_by(double shift) noexcept { shift_ = shift; }

double LevelSearch::power() const noexcept {
  return power_ + shift_ * (2 * sum_ + shift_ * weight_);
}

double LevelSearch::gain(const CodeValues& codes, double scale) const {
  constexpr double cost_of_a_look = 16;
  const double levels =
      codes.is_linear() ? codes.high() - codes.low() : static_cast<double>(codes.values().size());
  // Integers are found by rounding, others one after the other.
  const double looked_at = codes.is_linear() ? 1 : levels / 2;
  if (!sorted_.empty() && levels * cost_of_a_look < looked_at * static_cast<double>(count_)) {
    return gain_of_sorted(codes, scale);
  }
  return scale * scale *
         kernels::level_gain({values_.data(), weights_.data(), values_.size(), shift_},
                             codes.levels(), 1 / scale);
}

double LevelSearch::gain_of_sorted(const CodeValues& codes, double scale) const {
  const auto values = codes.values();
  const std::size_t levels =
      codes.is_linear() ? static_cast<std::size_t>(codes.high() - codes.low()) + 1 : values.size();
  const auto level = [&](std::size_t j) {
    return codes.is_linear() ? codes.low() + static_cast<double>(j) : values[j];
  };
  double sum = 0;
  std::size_t begin = 0;
  for (std::size_t j = 0; j < levels && begin < count_; ++j) {
    std::size_t end = count_;
    if (j + 1 < levels) {
      const double threshold = scale * (level(j) + level(j + 1)) / 2 - shift_;
      if (static_cast<double>(sorted_[begin]) >= threshold) continue;  // which adds nothing
      end = count_below(threshold);
    }
    const double h = weights_before_[end] - weights_before_[begin];
    const double hw = sums_before_[end] - sums_before_[begin] + shift_ * h;
    sum += level(j) * (2 * scale * hw - scale * scale * level(j) * h);
    begin = end;
  }
  return sum;
}

// Smaller ones clip an extreme value, or the one that counts most, by more than that.
double LevelSearch::least_scale(const CodeValues& codes, double cost) const noexcept {
  double least = 0;
  for (const Extreme& extreme : {largest_, smallest_, heaviest_}) {
    const double value = static_cast<double>(extreme.value) + shift_;
    const double last = value > 0 ? codes.high() : -codes.low();
    if (value == 0 || !(last > 0) || !(extreme.weight > 0)) continue;
    const double clipped = std::sqrt(cost / static_cast<double>(extreme.weight));
    least = std::max(least, (std::fabs(value) - clipped) / last);
  }
  return least;
}

// Values gain nothing at scales of which half of the least level is more: where all below some
// magnitude together cost more than `cost`, so does that scale.
double LevelSearch::most_scale(const CodeValues& codes, double cost) const noexcept {
  const double magnitude = std::max(std::fabs(static_cast<double>(largest_.value) + shift_),
                                    std::fabs(static_cast<double>(smallest_.value) + shift_));
  // From there on 2 s w l - s^2 l^2 falls, whatever w and l are.
  const double most = magnitude / codes.least_magnitude();
  if (shift_ != 0) return most;
  double sum = 0;
  for (std::size_t i = powers_.size(); i-- > 0;) {
    sum += powers_[i];
    if (sum <= cost) continue;
    const auto bits = static_cast<std::int32_t>(i << half_octave);
    const auto bound = std::bit_cast<float>(largest_bits_ - bits);
    return std::min(most, 2 * static_cast<double>(bound) / codes.least_magnitude());
  }
  return most;
}

// Both ends of the values are clipped by as much as costs that, if the scale is smaller.
double LevelSearch::least_scale_of_range(double cost) const noexcept {
  const double above = std::max(static_cast<double>(largest_.value), 0.0);
  const double below = std::max(-static_cast<double>(smallest_.value), 0.0);
  const auto weight = static_cast<double>(std::min(largest_.weight, smallest_.weight));
  if (!(weight > 0)) return 0;
  const double clipped = std::sqrt(2 * cost / weight);
  return std::max((above + below - clipped) / static_cast<double>(code_->max - code_->min), 0.0);
}

LevelSearch::Found LevelSearch::best_zero_point(double scale) const {
  const auto gain_with = [&](std::int64_t zero_point) {
    return gain(CodeValues(*code_, zero_point), scale);
  };
  // From the one that puts the values in the middle, to where no neighbour gains more.
  const double middle =
      (static_cast<double>(code_->min) + static_cast<double>(code_->max) -
       (static_cast<double>(largest_.value) + static_cast<double>(smallest_.value)) / scale) /
      2;
  const auto start = static_cast<std::int64_t>(
      std::clamp(middle, static_cast<double>(code_->min), static_cast<double>(code_->max)));
  Found best{0, gain_with(start), start};
  for (std::int64_t direction = 1, unmoved = 0; unmoved < 2; direction = -direction) {
    ++unmoved;
    for (std::int64_t step = 1; step > 0;) {
      const std::int64_t next = best.zero_point + direction * step;
      const bool is_code = next >= code_->min && next <= code_->max;
      const double sum = is_code ? gain_with(next) : best.gain;
      if (sum > best.gain) {
        best = {0, sum, next};
        step *= 2;
        unmoved = 0;
      } else {
        step /= 2;
      }
    }
  }
  return best;
}

std::optional<LevelSearch::Found> LevelSearch::best_with_zero_point(const IntegerCode& code,
                                                                    const ScaleSteps& steps,
                                                                    double gain_to_beat) {
  code_ = &code;
  const auto found = best(CodeValues(code, code.min), steps, gain_to_beat);
  code_ = nullptr;
  return found;
}

std::optional<LevelSearch::Found> LevelSearch::best(const CodeValues& codes,
                                                    const ScaleSteps& steps, double gain_to_beat) {
  found_.reset();
  intervals_.clear();
  const double all = power();
  rounding_ = rounding_of_gains * all;
  best_gain_ = gain_to_beat;
  if (all - best_gain_ <= rounding_) return found_;
  const double cost = all - best_gain_;
  const double least = code_ != nullptr ? least_scale_of_range(cost) : least_scale(codes, cost);
  const double most = most_scale(codes, cost);
  const std::int64_t first = std::max(steps.at_most(least), steps.first_above_zero());
  const std::int64_t last = std::min(steps.at_most(most) + 1, steps.last());
  if (last < first) return found_;

  if (code_ == nullptr && can_look_at_many(codes, steps, first, last)) {
    look_at_many(codes, steps, first, last);
  } else {
    look_downwards(codes, steps, first, last);
  }
  while (!intervals_.empty()) {
    const Interval interval = intervals_.back();
    intervals_.pop_back();
    if (interval.bound <= best_gain_ + rounding_) continue;
    const Sample middle = look_at(codes, steps, step_inside(interval));
    push(interval.low, middle);
    push(middle, interval.high);
  }
  return found_;
}

// What lies far below the best needs fewer looks: the parabola through two ends rises above them by
// (ratio - 1)^2 / 4 of the power.
void LevelSearch::look_downwards(const CodeValues& codes, const ScaleSteps& steps,
                                 std::int64_t first, std::int64_t last) {
  Sample high = look_at(codes, steps, last);
  while (high.step > first) {
    const double lost = std::sqrt(std::max(best_gain_ - high.gain, 0.0) / power());
    constexpr double least_ratio = 1.2;
    constexpr double most_ratio = 4;
    const double ratio = std::clamp(1 + 1.6 * lost, least_ratio, most_ratio);
    const std::int64_t next = steps.at_most(high.scale / ratio);
    const Sample low = look_at(codes, steps, std::clamp(next, first, high.step - 1));
    push(low, high);
    high = low;
  }
}

bool LevelSearch::can_look_at_many(const CodeValues& codes, const ScaleSteps& steps,
                                   std::int64_t first, std::int64_t last) const noexcept {
  constexpr float small = 0x1p-60F;
  constexpr float large = 0x1p60F;
  constexpr double most_levels = 64;
  return sorted_.empty() && steps.value(first) > small && steps.value(last) < large &&
         largest_weight_ < large && least_weight_ > small && codes.high() - codes.low() < 0x1p20 &&
         (codes.is_linear() || static_cast<double>(codes.values().size()) <= most_levels);
}

// A grid in float32, all of it at once; then in double what may be best, and where a parabola may
// rise above it.
void LevelSearch::look_at_many(const CodeValues& codes, const ScaleSteps& steps, std::int64_t first,
                               std::int64_t last) {
  constexpr std::size_t most = kernels::gains_at_once;
  std::array<std::int64_t, most> at;  // NOLINT(*-init): what is read of these is written before
  std::array<double, most> scales;    // NOLINT(*-init)
  std::array<double, most> gains;     // NOLINT(*-init)
  std::array<float, most> found;      // NOLINT(*-init)
  std::array<float, most> inverses{};
  // Evenly by steps, which is about evenly by the logarithm of floats.
  const bool is_narrow = steps.value(last) < 4 * steps.value(first);
  const auto wanted = static_cast<std::int64_t>(is_narrow ? most / 2 : most);
  const auto count = static_cast<std::size_t>(
      last - first < static_cast<std::int64_t>(most) ? last - first + 1 : wanted);
  const auto spaces = std::max<std::int64_t>(static_cast<std::int64_t>(count) - 1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t twice = 2 * (last - first) * static_cast<std::int64_t>(i);
    at[i] = first + (twice + spaces) / (2 * spaces);
    const float scale = steps.value(at[i]);
    scales[i] = static_cast<double>(scale);
    inverses[i] = 1 / scale;
  }
  kernels::level_gains({values_.data(), weights_.data(), values_.size(), shift_}, codes.levels(),
                       inverses.data(), count, found.data());
  // What rounding may hide: see level_gains; the rate is off by one more.
  constexpr double unit = 0x1p-24;
  const double least_level = codes.least_magnitude();
  const double of_power = unit * static_cast<double>(values_.size() + 40) * power();
  const double of_squares = 8 * unit * weight_ * least_level * least_level;
  const auto margin = [&](double scale) { return of_power + of_squares * scale * scale; };
  std::size_t top = 0;
  for (std::size_t i = 0; i < count; ++i) {
    gains[i] = scales[i] * scales[i] * static_cast<double>(found[i]);
    if (gains[i] > gains[top]) top = i;
  }
  std::array<bool, most> is_exact{};
  const auto exact = [&](std::size_t i) {
    if (!is_exact[i]) gains[i] = look_at(codes, steps, at[i]).gain;
    is_exact[i] = true;
  };
  exact(top);
  for (std::size_t i = 0; i < count; ++i) {
    if (gains[i] + margin(scales[i]) > best_gain_) exact(i);
  }
  // Ends that are too high by a margin raise a parabola by that times their ratio at most.
  const auto sample = [&](std::size_t i) {
    return Sample{at[i], scales[i], gains[i], gains[i] / scales[i]};
  };
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const double higher = std::max(gains[i], gains[i + 1]);
    const double raised_by = margin(scales[i + 1]) * scales[i + 1];
    if (at[i + 1] - at[i] < 2 ||
        stays_below(best_gain_, higher, raised_by, scales[i], scales[i + 1])) {
      continue;
    }
    const double raised = raised_by / scales[i];
    if (between(sample(i), sample(i + 1)).bound + raised <= best_gain_) continue;
    exact(i);
    exact(i + 1);
    push(sample(i), sample(i + 1));
  }
}

LevelSearch::Sample LevelSearch::look_at(const CodeValues& codes, const ScaleSteps& steps,
                                         std::int64_t step) {
  const auto scale = static_cast<double>(steps.value(step));
  Found found = code_ != nullptr ? best_zero_point(scale) : Found{0, gain(codes, scale)};
  found.step = step;
  if (found.gain > best_gain_) {
    best_gain_ = found.gain;
    found_ = found;
  }
  return {step, scale, found.gain, found.gain / scale};
}

LevelSearch::Interval LevelSearch::between(const Sample& low, const Sample& high) noexcept {
  // gain / s is a - b s: a line.
  const double b = (low.rate - high.rate) / (high.scale - low.scale);
  const double a = low.rate + b * low.scale;
  Interval interval{low, high, (low.scale + high.scale) / 2, std::max(low.gain, high.gain)};
  if (a > 2 * b * low.scale && a < 2 * b * high.scale) {
    interval.vertex = a / (2 * b);
    interval.bound = interval.vertex * (low.rate - b * (interval.vertex - low.scale));
  }
  return interval;
}

// Where the parabola is highest, or near that.
std::int64_t LevelSearch::step_inside(const Interval& interval) noexcept {
  const auto& [low, high, vertex, bound] = interval;
  const double part = (vertex - low.scale) / (high.scale - low.scale);
  const auto steps = static_cast<double>(high.step - low.step);
  return std::clamp(low.step + static_cast<std::int64_t>(std::llround(part * steps)), low.step + 1,
                    high.step - 1);
}

void LevelSearch::push(const Sample& low, const Sample& high) {
  if (high.step - low.step < 2) return;
  const Interval interval = between(low, high);
  if (interval.bound > best_gain_ + rounding_) intervals_.push_back(interval);
}

}  // namespace quadrant::inline v0
