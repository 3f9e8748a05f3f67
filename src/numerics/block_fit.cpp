#include "numerics/block_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrant::inline v0 {
namespace {

bool has_sign(const ScaleLevel& level) noexcept {
  if (const auto* integer = std::get_if<IntegerCode>(&level.type)) return integer->min < 0;
  return std::get<FloatScale>(level.type).has_sign;
}

bool is_power_of_two(const ScaleLevel& level) noexcept {
  const auto* real = std::get_if<FloatScale>(&level.type);
  return real != nullptr && real->type == ElementType::float8e8m0;
}

}  // namespace

void BlockFitter::load(std::span<const float> values, std::span<const float> weights,
                       const CodeValues& codes, const CodeValues& mirrored) {
  values_ = values;
  weights_ = weights;
  codes_ = &codes;
  mirrored_ = &mirrored;
  is_loaded_ = false;
  largest_ = smallest_ = 0;
  for (const float value : values) {
    largest_ = std::max(largest_, value);
    smallest_ = std::min(smallest_, value);
  }
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

float BlockFitter::number_of(double real, const ScaleLevel& level, float above) const {
  const bool negative = real < 0 && has_sign(level);
  const ScaleSteps steps(level, above, negative);
  std::int64_t step = steps.nearest(std::max(negative ? -real : real, 0.0));
  const bool is_float = std::holds_alternative<FloatScale>(level.type);
  // A float that is zero, in a format whose scales mean something.
  if (is_float && real != 0) step = std::max(step, steps.first_above_zero());
  return negative ? -steps.number(step) : steps.number(step);
}

BlockFit BlockFitter::stored(const Usual& usual, const AboveBlock& above) const {
  if (scale_level() == nullptr) return measured(1, 0, above);
  const bool is_float = std::holds_alternative<FloatScale>(scale_level()->type);
  // All values are zero: any scale does, but no runtime has trouble with 1.
  const double real = usual.scale == 0 && is_float ? 1 : usual.scale;
  const float scale = number_of(real, *scale_level(), above.scale);
  float offset = 0;
  if (format_.offset == Offset::minimum) {
    const bool is_zero = usual.minimum == 0;
    offset = is_zero ? 0 : number_of(usual.minimum, format_.offsets.back(), above.minimum);
  } else if (format_.offset == Offset::zero_point) {
    const auto& code = std::get<IntegerCode>(format_.code);
    const double zero =
        static_cast<double>(code.min) - static_cast<double>(smallest_) / real_scale(scale, above);
    offset = static_cast<float>(std::clamp(std::nearbyint(zero), static_cast<double>(code.min),
                                           static_cast<double>(code.max)));
  }
  return measured(scale, offset, above);
}

double BlockFitter::real_scale(float number, const AboveBlock& above) const noexcept {
  return static_cast<double>(above.scale * number);
}

BlockFit BlockFitter::measured(float scale, float offset, const AboveBlock& above) const {
  BlockFit fit{.scale = scale, .offset = offset, .scaled = real_scale(scale, above)};
  if (format_.offset == Offset::zero_point) {
    add_sums(CodeValues(format_.code, static_cast<std::int64_t>(offset)), fit);
    return fit;
  }
  if (format_.offset == Offset::minimum) {
    fit.minimum = static_cast<double>(above.minimum * offset);
  }
  add_sums(*codes_, fit);
  return fit;
}

void BlockFitter::add_sums(const CodeValues& codes, BlockFit& fit) const {
  const double inverse = fit.scaled == 0 ? 0 : 1 / fit.scaled;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto w = static_cast<double>(values_[i]);
    const auto h = static_cast<double>(weights_[i]);
    const double v = codes.nearest((w + fit.minimum) * inverse).value * fit.scaled;
    fit.h += h;
    fit.w += h * w;
    fit.ww += h * w * w;
    fit.v += h * v;
    fit.vv += h * v * v;
    fit.wv += h * w * v;
  }
}

BlockFit BlockFitter::search(const BlockFit& fit, const AboveBlock& above) {
  if (scale_level() == nullptr) return fit;
  if (!is_loaded_) search_.load(values_, weights_);
  is_loaded_ = true;
  search_.shift_by(0);
  if (format_.offset == Offset::minimum) return search_minima(fit, above);
  if (format_.offset == Offset::zero_point) return search_zero_points(fit, above);
  return search_signs(fit, above);
}

BlockFit BlockFitter::search_signs(const BlockFit& fit, const AboveBlock& above) {
  double gain = std::max(search_.power() - fit.cost(), 0.0);
  float scale = fit.scale;
  for (const bool negative : {false, true}) {
    if (negative && !may_be_negative()) break;
    const ScaleSteps steps(*scale_level(), above.scale, negative);
    const auto found = search_.best(negative ? *mirrored_ : *codes_, steps, gain);
    if (!found) continue;
    gain = found->gain;
    scale = negative ? -steps.number(found->step) : steps.number(found->step);
  }
  return scale == fit.scale ? fit : measured(scale, 0, above);
}

BlockFit BlockFitter::search_zero_points(const BlockFit& fit, const AboveBlock& above) {
  // From the one that is there on: the more is gained, the less there is to look at.
  const auto& code = std::get<IntegerCode>(format_.code);
  constexpr std::int64_t most_zero_points = 256;
  const auto start = static_cast<std::int64_t>(fit.offset);
  double gain = std::max(search_.power() - fit.cost(), 0.0);
  float scale = fit.scale;
  std::int64_t zero_point = start;
  const ScaleSteps steps(*scale_level(), above.scale);
  for (std::int64_t i = 0; i < 2 * most_zero_points; ++i) {
    const std::int64_t at = start + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    if (at < code.min || at > code.max) continue;
    const auto found = search_.best(CodeValues(format_.code, at), steps, gain);
    if (!found) continue;
    gain = found->gain;
    scale = steps.number(found->step);
    zero_point = at;
  }
  if (scale == fit.scale && zero_point == start) return fit;
  return measured(scale, static_cast<float>(zero_point), above);
}

// Among neighbouring steps of both, from the best to the next better, until none is.
BlockFit BlockFitter::search_minima(const BlockFit& fit, const AboveBlock& above) {
  const ScaleSteps scales(*scale_level(), above.scale, fit.scale < 0);
  const ScaleSteps minima(format_.offsets.back(), above.minimum, fit.offset < 0);
  const double sign = fit.offset < 0 ? -1 : 1;
  const auto last_of = [](const ScaleSteps& steps, float number, float outer) {
    return steps.nearest(static_cast<double>(std::fabs(number) * outer));
  };
  std::int64_t scale = last_of(scales, fit.scale, above.scale);
  std::int64_t minimum = last_of(minima, fit.offset, above.minimum);
  const CodeValues& codes = fit.scale < 0 ? *mirrored_ : *codes_;
  double least = fit.cost();
  bool moved = false;
  constexpr std::int64_t radius = 2;
  constexpr int most_moves = 64;
  for (int move = 0; move < most_moves; ++move) {
    std::int64_t best_scale = scale;
    std::int64_t best_minimum = minimum;
    for (std::int64_t m = std::max(minimum - radius, minima.first());
         m <= std::min(minimum + radius, minima.last()); ++m) {
      search_.shift_by(sign * static_cast<double>(minima.value(m)));
      for (std::int64_t s = std::max(scale - radius, scales.first());
           s <= std::min(scale + radius, scales.last()); ++s) {
        const auto real = static_cast<double>(scales.value(s));
        const double cost = search_.power() - (real > 0 ? search_.gain(codes, real) : 0);
        if (!(cost < least)) continue;
        least = cost;
        best_scale = s;
        best_minimum = m;
      }
    }
    if (best_scale == scale && best_minimum == minimum) break;
    scale = best_scale;
    minimum = best_minimum;
    moved = true;
  }
  search_.shift_by(0);
  if (!moved) return fit;
  return measured(std::copysign(scales.number(scale), fit.scale),
                  std::copysign(minima.number(minimum), fit.offset), above);
}

BlockFitter::Usual BlockFitter::free() {
  if (!is_loaded_) search_.load(values_, weights_);
  is_loaded_ = true;
  search_.shift_by(0);
  const ScaleSteps steps = ScaleSteps::free();
  if (format_.offset != Offset::minimum) {
    Usual result = usual();
    double gain = 0;
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
  // From some minima on: the best scale, then least squares for both, in turn.
  Usual best = usual();
  double least = std::numeric_limits<double>::infinity();
  const double extreme = best.minimum;
  const bool is_signed = has_sign(format_.offsets.back());
  for (const double part : {1.0, 0.9, 0.8}) {
    double minimum = extreme * part;
    double last = std::numeric_limits<double>::infinity();
    constexpr int most_turns = 8;
    for (int turn = 0; turn < most_turns; ++turn) {
      search_.shift_by(minimum);
      const auto found = search_.best(
          *codes_, steps, std::max(search_.power() - std::min(last, least * 1.05), 0.0));
      search_.shift_by(0);
      if (!found) break;
      const auto scale = static_cast<double>(steps.value(found->step));
      BlockFit fit{.scaled = scale, .minimum = minimum};
      add_sums(*codes_, fit);
      last = fit.cost();
      if (last < least) {
        least = last;
        best = {scale, minimum, least};
      }
      const double det = fit.vv * fit.h - fit.v * fit.v;
      if (!(det > 0)) break;
      // w = a v - m.
      const double next = (fit.v * fit.wv - fit.vv * fit.w) / det;
      if (next < 0 && !is_signed) break;
      if (std::fabs(next - minimum) <= 1e-6 * std::fabs(minimum)) break;
      minimum = next;
    }
  }
  return best;
}

}  // namespace quadrant::inline v0
