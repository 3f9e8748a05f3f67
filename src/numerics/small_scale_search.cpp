#include "numerics/small_scale_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "numerics/finite.hpp"

namespace quadrant::inline v0 {

void SmallScaleSearch::load(std::span<const float> values, const ValueRange& range) {
  const int exponent = exponent_above(std::max(range.max, -range.min)) - 1;
  constexpr int bias = 1023;
  unit_ = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + bias) << 52U);
  factor_ = 1 / unit_;
  values_.resize(values.size());
  power_ = kernels::scale_values(values.data(), values.size(), factor_, values_.data());
  above_ = static_cast<double>(range.max) * factor_;
  below_ = -static_cast<double>(range.min) * factor_;
}

std::optional<FoundScale> SmallScaleSearch::best(const ScaleDomain& domain, double bound,
                                                 bool is_likely) {
  domain_ = domain;
  domain_.most = domain.most * factor_;
  bound = bound * factor_ * factor_;
  best_gain_ = power_ - bound;
  best_scale_ = 0;
  constexpr double rounding = 1e-13;
  if (bound <= rounding * power_) return std::nullopt;

  const double clipped = std::sqrt(bound);
  double low = domain_.most / 1024;  // below, all but the smallest values would be clipped
  if (domain_.above > 0)
    low = std::max(low, (above_ - clipped) / static_cast<double>(domain_.above));
  if (domain_.below > 0)
    low = std::max(low, (below_ - clipped) / static_cast<double>(domain_.below));

  // A quarter of a code more than all reach, which is rounded away.
  const double clipping = std::max(above_ / (static_cast<double>(domain_.above) + 0.25),
                                   below_ / (static_cast<double>(domain_.below) + 0.25));
  const auto least = static_cast<float>(low);
  const auto most = static_cast<float>(domain_.most);
  if (!(least < most)) return std::nullopt;
  // Where better scales are not likely, fewer do to see that there are none.
  grid_.count = is_likely ? kernels::ScaleGrid::most_scales : kernels::ScaleGrid::most_scales / 2;
  const double margin = 4 * static_cast<double>(values_.size() + 8) * 0x1p-24 * power_;
  std::uint32_t promising = kernels::look_at_scales(
      values_.data(), values_.size(), least, most,
      {static_cast<float>(domain_.below), static_cast<float>(domain_.above)},
      static_cast<float>(clipping), static_cast<float>(best_gain_), static_cast<float>(margin),
      grid_);
  while (promising != 0) {
    // The most promising one first: it may leave nothing to the others.
    std::size_t top = 0;
    float bound_of_top = -1;
    for (std::uint32_t left = promising; left != 0; left &= left - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(left));
      if (!(grid_.bounds[i] > bound_of_top)) continue;
      top = i;
      bound_of_top = grid_.bounds[i];
    }
    if (static_cast<double>(bound_of_top) + margin <= best_gain_) break;
    promising &= ~(std::uint32_t{1} << top);
    sweep(static_cast<double>(grid_.scales[top]), static_cast<double>(grid_.scales[top + 1]));
  }
  if (best_scale_ == 0) return std::nullopt;
  // Rounding it costs at most 2 |a - b s| s 2^-24 of the gain s (2 a - s b). Values with a code
  // have at least half of its scale, so that s a is at most twice the power, and s s b four times.
  constexpr double enough = 0x1p-19;
  is_surely_better_ = best_gain_ - (power_ - bound) > enough * power_;
  return FoundScale{best_scale_ * unit_, domain_.below};
}

void SmallScaleSearch::sweep(double low, double high) {
  const kernels::CodeDistances codes{static_cast<float>(domain_.below),
                                     static_cast<float>(domain_.above)};
  auto [a, b, changed] = kernels::codes_at_ends(
      values_.data(), values_.size(), static_cast<float>(low), static_cast<float>(high), codes,
      low_codes_.data(), high_codes_.data(), changed_.data());
  changes_.clear();
  for (const std::uint32_t i : std::span(changed_).first(changed)) {
    const double magnitude = std::fabs(static_cast<double>(values_[i]));
    const double last = std::fabs(static_cast<double>(low_codes_[i]));
    for (double q = std::fabs(static_cast<double>(high_codes_[i])); q < last; ++q) {
      changes_.push_back({std::clamp(magnitude / (q + 0.5), low, high), magnitude, q});
    }
  }
  if (changes_.size() > 1) std::ranges::sort(changes_, std::ranges::greater(), &Change::scale);
  double end = high;
  for (const Change& change : changes_) {
    look_between(change.scale, end, a, b);
    a += change.magnitude;
    b += 2 * change.code + 1;
    end = change.scale;
  }
  look_between(low, end, a, b);
}

void SmallScaleSearch::look_between(double low, double high, double a, double b) {
  // The top of the parabola is a a / b: most do not get near.
  if (!(a * a > best_gain_ * b)) return;
  const double scale = std::clamp(b > 0 ? a / b : high, low, high);
  const double gain = scale * (2 * a - scale * b);
  if (!(gain > best_gain_)) return;
  best_gain_ = gain;
  best_scale_ = scale;
}

}  // namespace quadrant::inline v0
