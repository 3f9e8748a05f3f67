#include "numerics/small_scale_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/finite.hpp"
#include "numerics/kernels/scale_grid.hpp"

namespace quadrant::inline v0 {
namespace {

// Where scales lie in a grid of that many, from 0 at the least to 1 at the largest: closer together
// at the lower end, where the best ones are.
template <std::size_t size>
constexpr std::array<float, size> make_places() {
  std::array<float, size> places{};
  for (std::size_t i = 0; i < size; ++i) {
    const double place = static_cast<double>(i) / (size - 1);
    places[i] = static_cast<float>(place * (1 + 2 * place) / 3);
  }
  return places;
}

constexpr auto fine_places = make_places<kernels::most_scales>();
constexpr auto coarse_places = make_places<kernels::most_scales / 2>();

using Grid = std::array<float, kernels::most_scales>;

}  // namespace

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
  // Where better scales are not likely, fewer do to see that there are none.
  const std::span<const float> places =
      is_likely ? std::span<const float>(fine_places) : std::span<const float>(coarse_places);
  const std::size_t count = places.size();
  Grid scales;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled
  for (std::size_t i = 0; i < count; ++i) scales[i] = least + (most - least) * places[i];
  Grid gains;   // NOLINT(cppcoreguidelines-pro-type-member-init): filled by the kernel
  Grid bounds;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  kernels::gains_of_scales(values_.data(), values_.size(), scales.data(), count,
                           {static_cast<float>(domain_.below), static_cast<float>(domain_.above)},
                           gains.data(), bounds.data());
  // Float32's rounding of the sums, and of what follows.
  const double margin = 4 * static_cast<double>(values_.size() + 8) * 0x1p-24 * power_;
  const auto known =
      static_cast<double>(*std::max_element(gains.begin(), gains.begin() + count)) - margin;
  const auto enough = static_cast<float>(std::max(known, best_gain_) - margin);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    // The bound may have become too low meanwhile.
    if (bounds[i] < enough || static_cast<double>(bounds[i]) + margin <= best_gain_) continue;
    sweep(static_cast<double>(scales[i]), static_cast<double>(scales[i + 1]));
  }
  if (best_scale_ == 0) return std::nullopt;
  return FoundScale{best_scale_ * unit_, domain_.below};
}

void SmallScaleSearch::sweep(double low, double high) {
  const kernels::CodeDistances codes{static_cast<float>(domain_.below),
                                     static_cast<float>(domain_.above)};
  low_codes_.resize(values_.size());
  high_codes_.resize(values_.size());
  kernels::nearest_codes(values_.data(), values_.size(), static_cast<float>(low), codes,
                         low_codes_.data());
  kernels::nearest_codes(values_.data(), values_.size(), static_cast<float>(high), codes,
                         high_codes_.data());
  double a = 0;
  double b = 0;
  changes_.clear();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto value = static_cast<double>(values_[i]);
    const auto code = static_cast<double>(high_codes_[i]);
    a += value * code;
    b += code * code;
    if (low_codes_[i] == high_codes_[i]) continue;
    const double magnitude = std::fabs(value);
    const double last = std::fabs(static_cast<double>(low_codes_[i]));
    for (double q = std::fabs(code); q < last; ++q) {
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
