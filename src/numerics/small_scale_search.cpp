#include "numerics/small_scale_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "numerics/finite.hpp"
#include "numerics/kernels/scale_grid.hpp"

namespace quadrant::inline v0 {

void SmallScaleSearch::load(std::span<const float> values, const ValueRange& range) {
  unit_ = std::ldexp(1.0, exponent_above(std::max(range.max, -range.min)) - 1);
  const double factor = 1 / unit_;
  values_.resize(values.size());
  std::array<double, 4> powers_of{};  // side by side, so that none waits for the one before
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]) * factor;
    values_[i] = static_cast<float>(value);
    powers_of[i % 4] += value * value;
  }
  power_ = (powers_of[0] + powers_of[1]) + (powers_of[2] + powers_of[3]);
  above_ = static_cast<double>(range.max) * factor;
  below_ = -static_cast<double>(range.min) * factor;
}

std::optional<FoundScale> SmallScaleSearch::best(const ScaleDomain& domain, double bound,
                                                 bool is_likely) {
  domain_ = domain;
  domain_.most = domain.most / unit_;
  bound = bound / unit_ / unit_;
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

  const auto least = static_cast<float>(low);
  const auto most = static_cast<float>(domain_.most);
  if (!(least < most)) return std::nullopt;
  kernels::ScaleGrid grid;
  // Where better scales are not likely, fewer do to see that there are none.
  grid.count = is_likely ? kernels::ScaleGrid::most_scales : kernels::ScaleGrid::most_scales / 2;
  const double margin = 4 * static_cast<double>(values_.size() + 8) * 0x1p-24 * power_;
  std::uint32_t promising = kernels::look_at_scales(
      values_.data(), values_.size(), least, most,
      {static_cast<float>(domain_.below), static_cast<float>(domain_.above)},
      static_cast<float>(best_gain_), static_cast<float>(margin), grid);
  for (; promising != 0; promising &= promising - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(promising));
    // That may have become too little meanwhile.
    if (static_cast<double>(grid.bounds[i]) + margin <= best_gain_) continue;
    sweep(static_cast<double>(grid.scales[i]), static_cast<double>(grid.scales[i + 1]));
  }
  if (best_scale_ == 0) return std::nullopt;
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
  std::ranges::sort(changes_, std::ranges::greater(), &Change::scale);
  double end = high;
  for (const Change& change : changes_) {
    look_at(std::clamp(b > 0 ? a / b : end, change.scale, end), a, b);
    a += change.magnitude;
    b += 2 * change.code + 1;
    end = change.scale;
  }
  look_at(std::clamp(b > 0 ? a / b : end, low, end), a, b);
}

void SmallScaleSearch::look_at(double scale, double a, double b) {
  const double gain = scale * (2 * a - scale * b);
  if (!(gain > best_gain_)) return;
  best_gain_ = gain;
  best_scale_ = scale;
}

}  // namespace quadrant::inline v0
