#include "numerics/level_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t few_values = 512;
constexpr double rounding_of_gains = 1e-13;  // as a part of the power

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
  largest_ = smallest_ = {values.empty() ? 0 : values[0], values.empty() ? 0 : weights[0]};
  for (std::size_t i = 0; i < count_; ++i) {
    const auto w = static_cast<double>(values[i]);
    const auto h = static_cast<double>(weights[i]);
    weight_ += h;
    sum_ += h * w;
    power_ += h * w * w;
    if (values[i] > largest_.value) largest_ = {values[i], weights[i]};
    if (values[i] < smallest_.value) smallest_ = {values[i], weights[i]};
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
      const auto at = std::lower_bound(
          sorted_.begin() + static_cast<std::ptrdiff_t>(begin), sorted_.end(), threshold,
          [](float value, double bound) { return static_cast<double>(value) < bound; });
      end = static_cast<std::size_t>(at - sorted_.begin());
    }
    const double h = weights_before_[end] - weights_before_[begin];
    const double hw = sums_before_[end] - sums_before_[begin] + shift_ * h;
    sum += level(j) * (2 * scale * hw - scale * scale * level(j) * h);
    begin = end;
  }
  return sum;
}

// Smaller ones clip an extreme value by more than that.
double LevelSearch::least_scale(const CodeValues& codes, double cost) const noexcept {
  const auto least = [&](double magnitude, float weight, double last) {
    if (!(magnitude > 0) || !(last > 0) || !(weight > 0)) return 0.0;
    return (magnitude - std::sqrt(cost / static_cast<double>(weight))) / last;
  };
  const double above =
      least(static_cast<double>(largest_.value) + shift_, largest_.weight, codes.high());
  const double below =
      least(-static_cast<double>(smallest_.value) - shift_, smallest_.weight, -codes.low());
  return std::max({above, below, 0.0});
}

std::optional<LevelSearch::Found> LevelSearch::best(const CodeValues& codes,
                                                    const ScaleSteps& steps, double gain_to_beat) {
  found_.reset();
  intervals_.clear();
  const double all = power();
  rounding_ = rounding_of_gains * all;
  best_gain_ = gain_to_beat;
  if (all - best_gain_ <= rounding_) return found_;
  const double magnitude = std::max(std::fabs(static_cast<double>(largest_.value) + shift_),
                                    std::fabs(static_cast<double>(smallest_.value) + shift_));
  // From there on 2 s w l - s^2 l^2 falls, whatever w and l are.
  const double most = magnitude / codes.least_magnitude();
  const double least = least_scale(codes, all - best_gain_);
  const std::int64_t first = std::max(steps.at_most(least), steps.first_above_zero());
  const std::int64_t last = std::min(steps.at_most(most) + 1, steps.last());
  if (last < first) return found_;

  // From the largest down: what lies far below the best needs fewer looks, since the parabola
  // through two ends rises above them by (ratio - 1)^2 / 4 of the power.
  Sample high = look_at(codes, steps, last);
  while (high.step > first) {
    const double lost = std::sqrt(std::max(best_gain_ - high.gain, 0.0) / all);
    constexpr double least_ratio = 1.2;
    constexpr double most_ratio = 4;
    const double ratio = std::clamp(1 + 1.6 * lost, least_ratio, most_ratio);
    const std::int64_t next = steps.at_most(high.scale / ratio);
    const Sample low = look_at(codes, steps, std::clamp(next, first, high.step - 1));
    push(low, high);
    high = low;
  }
  while (!intervals_.empty()) {
    const Interval interval = intervals_.back();
    intervals_.pop_back();
    if (interval.bound <= best_gain_ + rounding_) continue;
    const std::int64_t step =
        std::clamp(steps.nearest(interval.vertex), interval.low.step + 1, interval.high.step - 1);
    const Sample middle = look_at(codes, steps, step);
    push(interval.low, middle);
    push(middle, interval.high);
  }
  return found_;
}

LevelSearch::Sample LevelSearch::look_at(const CodeValues& codes, const ScaleSteps& steps,
                                         std::int64_t step) {
  const auto scale = static_cast<double>(steps.value(step));
  const double sum = gain(codes, scale);
  if (sum > best_gain_) {
    best_gain_ = sum;
    found_ = Found{step, sum};
  }
  return {step, scale, sum, sum / scale};
}

void LevelSearch::push(const Sample& low, const Sample& high) {
  if (high.step - low.step < 2) return;
  // gain / s is a - b s: a line.
  const double b = (low.rate - high.rate) / (high.scale - low.scale);
  const double a = low.rate + b * low.scale;
  double bound = std::max(low.gain, high.gain);
  double vertex = (low.scale + high.scale) / 2;
  if (a > 2 * b * low.scale && a < 2 * b * high.scale) {
    vertex = a / (2 * b);
    bound = vertex * (low.rate - b * (vertex - low.scale));
  }
  if (bound > best_gain_ + rounding_) intervals_.push_back({low, high, vertex, bound});
}

}  // namespace quadrant::inline v0
