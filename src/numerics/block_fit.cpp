#include "numerics/block_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "numerics/kernels/extremes.hpp"
#include "numerics/plane_bound.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr double enough_of_a_turn = 1e-6;
constexpr auto largest_float_value = static_cast<double>(std::numeric_limits<float>::max());
constexpr double largest_minimum = largest_float_value / 2;

// Of `real`, the nearest number; of floats not zero, but for `real` that is.
template <class Steps>
float number_of(double real, const ScaleLevel& level, Steps steps_of) {
  const bool is_float = std::holds_alternative<FloatScale>(level.type);
  const bool negative = real < 0 && has_sign(level);
  const ScaleSteps steps = steps_of(negative);
  std::int64_t step = steps.nearest(std::max(negative ? -real : real, 0.0));
  if (is_float && real != 0) step = std::max(step, steps.first_above_zero());
  return negative ? -steps.number(step) : steps.number(step);
}

bool is_power_of_two(const ScaleLevel& level) noexcept {
  const auto* real = std::get_if<FloatScale>(&level.type);
  return real != nullptr && real->type == ElementType::float8e8m0;
}

double real_scale(float number, const AboveBlock& above) noexcept {
  return static_cast<double>(above.scale * number);
}

}  // namespace

void BlockFitter::load(std::span<const float> values, std::span<const float> weights,
                       const CodeValues& codes, const CodeValues& mirrored) {
  values_ = values;
  weights_ = weights;
  codes_ = &codes;
  mirrored_ = &mirrored;
  is_loaded_ = false;
  kernels::reach_of_rows(values.data(), {1, values.size(), values.size()}, {&largest_, &smallest_});
  smallest_ = -smallest_;
}

bool BlockFitter::may_be_negative() const noexcept {
  return scale_level() != nullptr && has_sign(*scale_level()) && !codes_->is_symmetric();
}

BlockFitter::Usual BlockFitter::usual() const noexcept {
  if (scale_level() == nullptr) return {1, 0};
  const auto above = static_cast<double>(largest_);
  const auto below = -static_cast<double>(smallest_);
  const double high = codes_->high();
  const double low = -codes_->low();
  if (format_.offset == Offset::zero_point) return {(above + below) / (high + low), 0};
  if (format_.offset == Offset::minimum) {
    // The smallest gets the first code; a minimum without a sign is not below 0.
    const double scale = (above + below) / (high + low);
    const double minimum = below - scale * low;
    if (minimum >= 0 || has_sign(format_.offsets.back())) return {scale, minimum};
    return {std::max(above / high, low > 0 ? below / low : 0), 0};
  }
  const double magnitude = std::max(above, below);
  const double last = std::max(high, low);
  if (is_power_of_two(format_.scales.back()) && magnitude > 0) {
    return {std::exp2(std::floor(std::log2(magnitude)) - std::floor(std::log2(last))), 0};
  }
  if (may_be_negative()) {
    const bool positive = (above >= below) == (high >= low);
    return {positive ? magnitude / last : -magnitude / last, 0};
  }
  const auto reach = [](double of_values, double of_codes) {
    return of_codes > 0 ? of_values / of_codes : 0.0;
  };
  return {std::max(reach(above, high), reach(below, low)), 0};
}

// Of others no scale that is looked at comes near infinity.
bool BlockFitter::is_large() const noexcept {
  constexpr float large = 1e25F;
  return largest_ > large || smallest_ < -large;
}

double BlockFitter::largest_scale() const noexcept {
  const double last = format_.offset == Offset::zero_point
                          ? codes_->high() - codes_->low()
                          : std::max(codes_->high(), -codes_->low());
  return (format_.offset == Offset::minimum ? largest_minimum : largest_float_value) / last;
}

ScaleSteps BlockFitter::scales(float above, bool negative) const noexcept {
  ScaleSteps steps(format_.scales.back(), above, negative);
  if (is_large()) steps.limit(largest_scale());
  return steps;
}

ScaleSteps BlockFitter::minima(float above, bool negative) const noexcept {
  ScaleSteps steps(format_.offsets.back(), above, negative);
  if (is_large()) steps.limit(largest_minimum);
  return steps;
}

BlockFit BlockFitter::stored(const Usual& usual, const AboveBlock& above) {
  if (scale_level() == nullptr) return placed(1, 0, above);
  const bool is_float = std::holds_alternative<FloatScale>(scale_level()->type);
  // All values are zero: any scale does, but no runtime has trouble with 1.
  const double real = usual.scale == 0 && is_float ? 1 : usual.scale;
  const float scale =
      number_of(real, *scale_level(), [&](bool negative) { return scales(above.scale, negative); });
  float offset = 0;
  if (format_.offset == Offset::minimum) {
    offset = number_of(usual.minimum, format_.offsets.back(),
                       [&](bool negative) { return minima(above.minimum, negative); });
  } else if (format_.offset == Offset::zero_point) {
    const auto& code = std::get<IntegerCode>(format_.code);
    const double scaled = real_scale(scale, above);
    const double below = scaled == 0 ? 0 : static_cast<double>(smallest_) / scaled;
    const double zero = static_cast<double>(code.min) - below;
    offset = static_cast<float>(std::clamp(std::nearbyint(zero), static_cast<double>(code.min),
                                           static_cast<double>(code.max)));
  }
  return placed(scale, offset, above);
}

BlockFit BlockFitter::placed(float scale, float offset, const AboveBlock& above) const noexcept {
  BlockFit fit{.scale = scale, .offset = offset, .scaled = real_scale(scale, above)};
  if (format_.offset == Offset::minimum) {
    fit.minimum = static_cast<double>(above.minimum * offset);
  }
  return fit;
}

BlockFit BlockFitter::measured(float scale, float offset, const AboveBlock& above) {
  BlockFit fit = placed(scale, offset, above);
  if (format_.offset == Offset::zero_point) {
    add_sums(CodeValues(format_.code, static_cast<std::int64_t>(offset)), fit);
  } else {
    add_sums(*codes_, fit);
  }
  return fit;
}

double BlockFitter::bound(const Usual& found) {
  if (format_.offset != Offset::minimum) return found.cost;
  constexpr double tolerance = 0.01;
  return least_cost_of_plane(search_, *codes_, found.cost, tolerance);
}

BlockFit BlockFitter::measured_free(const Usual& found) {
  BlockFit fit{.scaled = found.scale, .minimum = found.minimum};
  add_sums(*codes_, fit);
  return fit;
}

std::span<const std::uint16_t> BlockFitter::nearest(const CodeValues& codes, double scaled,
                                                    double minimum) {
  places_.resize(values_.size());
  const double inverse = scaled == 0 ? 0 : 1 / scaled;
  codes.find_nearest({values_.data(), values_.size(), minimum, inverse}, places_.data());
  return places_;
}

void BlockFitter::add_sums(const CodeValues& codes, BlockFit& fit) {
  const auto places = nearest(codes, fit.scaled, fit.minimum);
  BlockFit sums = fit;  // not known to be apart from the values, it would be stored at each
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto w = static_cast<double>(values_[i]);
    const auto h = static_cast<double>(weights_[i]);
    const double v = codes.value_at(places[i]) * sums.scaled;
    const double hv = h * v;
    sums.h += h;
    sums.w += h * w;
    sums.ww += h * w * w;
    sums.v += hv;
    sums.vv += hv * v;
    sums.wv += hv * w;
  }
  fit = sums;
}

BlockFit BlockFitter::search(const BlockFit& fit, const AboveBlock& above) {
  if (scale_level() == nullptr || !(above.scale > 0)) return fit;
  if (!is_loaded_) search_.load(values_, weights_);
  is_loaded_ = true;
  search_.shift_by(0);
  if (format_.offset == Offset::minimum) return search_minima(fit, above);
  if (format_.offset == Offset::zero_point) return search_zero_points(fit, above);
  return search_signs(fit, above);
}

BlockFit BlockFitter::search_signs(const BlockFit& fit, const AboveBlock& above) {
  double gain = search_.power() - fit.cost();
  float scale = fit.scale;
  // That of the scale that is there first: it leaves less to the other.
  const bool likely = fit.scale < 0;
  for (const bool negative : {likely, !likely}) {
    if (negative && !may_be_negative()) continue;
    const ScaleSteps steps = scales(above.scale, negative);
    const auto found = search_.best(negative ? *mirrored_ : *codes_, steps, gain);
    if (!found) continue;
    gain = found->gain;
    scale = negative ? -steps.number(found->step) : steps.number(found->step);
  }
  return scale == fit.scale ? fit : measured(scale, 0, above);
}

BlockFit BlockFitter::search_zero_points(const BlockFit& fit, const AboveBlock& above) {
  const auto found =
      search_.best_with_zero_point(std::get<IntegerCode>(format_.code), scales(above.scale, false),
                                   search_.power() - fit.cost());
  if (!found) return fit;
  return measured(scales(above.scale, false).number(found->step),
                  static_cast<float>(found->zero_point), above);
}

// Among scales near the one that is there, each with minima near the one that leaves the mean where
// it is: errors of both make up for each other along that line.
BlockFitter::Stored BlockFitter::best_near(const BlockFit& fit, const AboveBlock& above) {
  const bool is_mirrored = fit.scale < 0;
  const ScaleSteps scales = this->scales(above.scale, is_mirrored);
  const CodeValues& codes = is_mirrored ? *mirrored_ : *codes_;
  constexpr std::int64_t scales_around = 8;
  constexpr std::int64_t minima_around = 2;
  Stored best{fit.scale, fit.offset};
  double least = fit.cost();
  const std::int64_t there = scales.nearest(std::fabs(fit.scaled));
  for (std::int64_t s = std::max(there - scales_around, scales.first());
       s <= std::min(there + scales_around, scales.last()); ++s) {
    const auto real = static_cast<double>(scales.value(s));
    const double ratio = fit.scaled == 0 ? 1 : real / std::fabs(fit.scaled);
    const double wanted = fit.minimum + (ratio - 1) * fit.v / fit.h;
    const bool negative = wanted < 0 && has_sign(format_.offsets.back());
    const ScaleSteps minima = this->minima(above.minimum, negative);
    const std::int64_t middle = minima.nearest(std::max(negative ? -wanted : wanted, 0.0));
    for (std::int64_t m = std::max(middle - minima_around, minima.first());
         m <= std::min(middle + minima_around, minima.last()); ++m) {
      const auto minimum = static_cast<double>(minima.value(m));
      search_.shift_by(negative ? -minimum : minimum);
      const double cost = search_.power() - (real > 0 ? search_.gain(codes, real) : 0);
      if (!(cost < least)) continue;
      least = cost;
      best = {is_mirrored ? -scales.number(s) : scales.number(s),
              negative ? -minima.number(m) : minima.number(m)};
    }
  }
  return best;
}

// Again from the best, until none is.
BlockFit BlockFitter::search_minima(const BlockFit& fit, const AboveBlock& above) {
  constexpr int most_moves = 16;
  BlockFit best = fit;
  for (int move = 0; move < most_moves && best.h > 0; ++move) {
    const auto [scale, offset] = best_near(best, above);
    if (scale == best.scale && offset == best.offset) break;
    best = measured(scale, offset, above);
  }
  search_.shift_by(0);
  return best;
}

BlockFitter::Usual BlockFitter::free() {
  if (!is_loaded_) search_.load(values_, weights_);
  is_loaded_ = true;
  search_.shift_by(0);
  const ScaleSteps steps = ScaleSteps::free();
  if (format_.offset != Offset::minimum) {
    Usual result = usual();
    if (result.scale == 0) return result;
    double gain = search_.gain(result.scale < 0 ? *mirrored_ : *codes_, std::fabs(result.scale));
    for (const bool negative : {false, true}) {
      if (negative && !may_be_negative()) break;
      const auto found = search_.best(negative ? *mirrored_ : *codes_, steps, gain);
      if (!found) continue;
      gain = found->gain;
      const auto scale = static_cast<double>(steps.value(found->step));
      result.scale = negative ? -scale : scale;
    }
    result.cost = std::max(search_.power() - gain, 0.0);
    return result;
  }
  return free_minimum();
}

// The best of a grid of both ends of the range, each by least squares for scale and minimum, with
// codes as they are, in turn.
BlockFitter::Usual BlockFitter::free_minimum() {
  struct Start {
    double cost = 0;
    double scale = 0;
    double minimum = 0;
  };
  constexpr int steps = 8;
  constexpr double step = 0.05;
  std::array<Start, static_cast<std::size_t>(steps) * steps> starts;
  const double high = codes_->high();
  const double low = -codes_->low();
  const bool is_signed = has_sign(format_.offsets.back());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t row = i / steps;
    const std::size_t column = i % steps;
    const double below = -static_cast<double>(smallest_) * (1 - step * static_cast<double>(row));
    const double above = static_cast<double>(largest_) * (1 - step * static_cast<double>(column));
    Start& start = starts[i];
    start.scale = (above + below) / (high + low);
    start.minimum = below - start.scale * low;
    if (start.minimum < 0 && !is_signed) start = {0, above / high, 0};
    search_.shift_by(start.minimum);
    const double gain = start.scale > 0 ? search_.gain(*codes_, start.scale) : 0;
    start.cost = search_.power() - gain;
  }
  search_.shift_by(0);
  constexpr std::size_t polished = 6;
  std::ranges::partial_sort(starts, starts.begin() + polished, {}, &Start::cost);
  Usual best{starts[0].scale, starts[0].minimum, starts[0].cost};
  for (const Start& start : std::span(starts).first(polished)) {
    BlockFit fit{.scaled = start.scale, .minimum = start.minimum};
    constexpr int most_turns = 16;
    for (int turn = 0; turn < most_turns && fit.scaled > 0; ++turn) {
      fit = BlockFit{.scaled = fit.scaled, .minimum = fit.minimum};
      add_sums(*codes_, fit);
      const double last = fit.cost();
      // Least squares of w = a v - m, and what that costs.
      const double det = fit.vv * fit.h - fit.v * fit.v;
      if (!(det > 0)) break;
      double minimum = (fit.v * fit.wv - fit.vv * fit.w) / det;
      if (minimum < 0 && !is_signed) minimum = 0;
      const double a = (fit.wv + minimum * fit.v) / fit.vv;
      fit.minimum = minimum;
      const double cost = fit.cost(a, minimum);
      if (cost < best.cost) best = {fit.scaled * a, minimum, cost};
      if (!(cost < last * (1 - enough_of_a_turn))) break;
      fit.scaled *= a;
    }
  }
  return best;
}

}  // namespace quadrant::inline v0
