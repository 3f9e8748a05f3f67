#include "numerics/code_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace quadrant::inline v0 {
namespace {

/// The float behind a level, as kernels::LevelSet has them.
double next_float(double level, int mantissa_bits, double least_normal) noexcept {
  constexpr int all_bits = 52;
  const double moved = level < least_normal ? least_normal : 0;
  const auto bits = std::bit_cast<std::uint64_t>(level + moved);
  return std::bit_cast<double>(bits + (std::uint64_t{1} << (all_bits - mantissa_bits))) - moved;
}

/// Of how many bits below the first one they are all floats from 0 on; 0 for other levels, and for
/// few, which are looked at one after the other as fast.
int mantissa_bits_of(std::span<const double> from_zero) noexcept {
  constexpr std::size_t few = 16;
  constexpr int most = 4;
  if (from_zero.size() <= few || from_zero[0] != 0) return 0;
  for (int bits = 1; bits <= most; ++bits) {
    const double least_normal = std::ldexp(from_zero[1], bits);
    const auto is_next = [&](double level, double next) {
      return next_float(level, bits, least_normal) == next;
    };
    if (std::ranges::equal(from_zero.first(from_zero.size() - 1), from_zero.subspan(1), is_next)) {
      return bits;
    }
  }
  return 0;
}

}  // namespace

CodeValues::CodeValues(const NumberCode& code, std::int64_t zero_point)
    : bits_(bit_width(code)), zero_point_(static_cast<double>(zero_point)) {
  if (const auto* integer = std::get_if<IntegerCode>(&code)) {
    is_linear_ = true;
    is_signed_ = integer->is_signed;
    low_ = static_cast<double>(integer->min - zero_point);
    high_ = static_cast<double>(integer->max - zero_point);
    is_symmetric_ = low_ == -high_;
    least_magnitude_ = std::max({low_, -high_, 1.0});
  } else {
    take(code_values(code));
  }
}

CodeValues::CodeValues(std::span<const float> table) { take(table); }

void CodeValues::take(std::span<const float> by_code) {
  by_code_.assign(by_code.begin(), by_code.end());
  std::vector<std::uint32_t> order(by_code.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t i) { return std::isnan(by_code[i]); });
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(by_code[i], i); });
  for (const std::uint32_t i : order) {
    const auto value = static_cast<double>(by_code[i]);
    if (!values_.empty() && values_.back() == value) continue;  // of 0 and -0, the one without sign
    values_.push_back(value);
    codes_.push_back(i);
  }
  finish();
}

void CodeValues::finish() {
  low_ = values_.front();
  high_ = values_.back();
  thresholds_.clear();
  least_step_ = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < values_.size(); ++i) {
    least_step_ = std::min(least_step_, values_[i] - values_[i - 1]);
    thresholds_.push_back((values_[i - 1] + values_[i]) / 2);
  }
  is_symmetric_ = true;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    is_symmetric_ = is_symmetric_ && values_[i] == -values_[values_.size() - 1 - i];
  }
  least_magnitude_ = std::numeric_limits<double>::infinity();
  for (const double value : values_) {
    if (value != 0) least_magnitude_ = std::min(least_magnitude_, std::fabs(value));
  }
  from_zero_.clear();
  std::ranges::copy_if(values_, std::back_inserter(from_zero_),
                       [](double value) { return value >= 0; });
  mantissa_bits_ = is_symmetric_ ? mantissa_bits_of(from_zero_) : 0;
  least_normal_ = mantissa_bits_ > 0 ? std::ldexp(from_zero_[1], mantissa_bits_) : 0;
}

kernels::LevelSet CodeValues::levels() const noexcept {
  const std::vector<double>& used = is_symmetric_ ? from_zero_ : values_;
  return {used.data(), used.size(), is_linear_,     is_symmetric_,
          low_,        high_,       mantissa_bits_, least_normal_};
}

CodeValues CodeValues::mirrored() const {
  CodeValues result = *this;
  if (is_linear_) {
    result.low_ = -high_;
    result.high_ = -low_;
    return result;
  }
  std::ranges::reverse(result.values_);
  std::ranges::reverse(result.codes_);
  for (double& value : result.values_) value = -value;
  result.finish();
  return result;
}

void CodeValues::find_nearest(const kernels::ScaledValues& of,
                              std::uint16_t* places) const noexcept {
  if (is_linear_) {
    kernels::nearest_integers(of, low_, high_, places);
    return;
  }
  constexpr std::size_t few = 32;
  if (thresholds_.size() <= few) {
    kernels::count_thresholds(of, thresholds_.data(), thresholds_.size(), places);
    return;
  }
  for (std::size_t i = 0; i < of.count; ++i) {
    const double x = (static_cast<double>(of.values[i]) + of.shift) * of.inverse;
    places[i] = static_cast<std::uint16_t>(place_of(x));
  }
}

std::size_t CodeValues::place_among_thresholds(double value) const noexcept {
  return static_cast<std::size_t>(std::ranges::lower_bound(thresholds_, value) -
                                  thresholds_.begin());
}

std::uint32_t CodeValues::even_code(float value) const noexcept {
  const auto wanted = static_cast<double>(value);
  const std::size_t place = place_among_thresholds(wanted);  // the lower of two
  const bool is_tie = place < thresholds_.size() && thresholds_[place] == wanted;
  return codes_[is_tie && codes_[place] % 2 != 0 ? place + 1 : place];
}

}  // namespace quadrant::inline v0
