// What the codes of a number format stand for, before scales.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/kernels/level_gains.hpp"
#include "numerics/kernels/nearest_levels.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

/// The values of codes in ascending order, each once, and the codes.
class CodeValues {
 public:
  CodeValues() = default;
  /// Of codes that are not in a stored table; `zero_point` is taken from integers.
  explicit CodeValues(const NumberCode& code, std::int64_t zero_point = 0);
  /// Of a stored table in ascending order.
  explicit CodeValues(std::span<const float> table);

  [[nodiscard]] double low() const noexcept { return low_; }
  [[nodiscard]] double high() const noexcept { return high_; }
  /// Of those that are not 0; infinite where there are none.
  [[nodiscard]] double least_magnitude() const noexcept { return least_magnitude_; }
  /// Least distance of two of them; infinite where there is one.
  [[nodiscard]] double least_step() const noexcept { return least_step_; }
  [[nodiscard]] bool is_linear() const noexcept { return is_linear_; }
  /// All but for linear ones, of which there may be many.
  [[nodiscard]] std::span<const double> values() const noexcept { return values_; }
  [[nodiscard]] kernels::LevelSet levels() const noexcept;
  /// With opposite signs, for scales below zero.
  [[nodiscard]] CodeValues mirrored() const;
  /// Whether they are their own mirror image.
  [[nodiscard]] bool is_symmetric() const noexcept { return is_symmetric_; }

  /// Which of them is nearest to each (value + shift) * inverse, by its place in ascending order.
  /// Of two, integers take the even one, others the lower.
  void find_nearest(const kernels::ScaledValues& of, std::uint16_t* places) const noexcept;
  /// The same for one value.
  [[nodiscard]] std::size_t place_of(double value) const noexcept {
    if (!is_linear_) return place_among_thresholds(value);
    constexpr double rounder = 0x1.8p52;  // beside which there are no fractions
    return static_cast<std::size_t>((std::clamp(value, low_, high_) + rounder) - rounder - low_);
  }
  [[nodiscard]] double value_at(std::size_t place) const noexcept {
    return is_linear_ ? low_ + static_cast<double>(place) : values_[place];
  }
  /// As stored.
  [[nodiscard]] std::uint32_t code_at(std::size_t place) const noexcept {
    if (!is_linear_) return codes_[place];
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value_at(place) + zero_point_));
  }
  /// The code of what is nearest to `value`, of codes that are floats: of two, the one whose last
  /// bit is 0.
  [[nodiscard]] std::uint32_t even_code(float value) const noexcept;
  /// The value of a code as stored, of the bits that the format has.
  [[nodiscard]] float value_of(std::uint32_t code) const noexcept;

 private:
  [[nodiscard]] std::size_t place_among_thresholds(double value) const noexcept;
  void take(std::span<const float> by_code);
  void finish();

  double low_ = 0;
  double high_ = 0;
  double least_magnitude_ = 1;
  double least_step_ = 1;
  bool is_linear_ = false;
  bool is_symmetric_ = false;
  int mantissa_bits_ = 0;  ///< as in kernels::LevelSet
  double least_normal_ = 0;
  int bits_ = 0;
  bool is_signed_ = false;
  double zero_point_ = 0;
  std::vector<double> values_;
  std::vector<double> thresholds_;  ///< between one and the next
  std::vector<double> from_zero_;   ///< of symmetric ones, those that are not negative
  std::vector<std::uint32_t> codes_;
  std::vector<float> by_code_;
};

inline float CodeValues::value_of(std::uint32_t code) const noexcept {
  if (!is_linear_) return code < by_code_.size() ? by_code_[code] : 0.0F;
  code &= (1U << static_cast<unsigned>(bits_)) - 1;
  const std::uint32_t sign = is_signed_ ? 1U << static_cast<unsigned>(bits_ - 1) : 0U;
  const std::int64_t value = static_cast<std::int64_t>(code ^ sign) - std::int64_t{sign};
  return static_cast<float>(static_cast<double>(value) - zero_point_);
}

}  // namespace quadrant::inline v0
