// What the codes of a number format stand for, before scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/kernels/level_gains.hpp"
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
  [[nodiscard]] double least_magnitude() const noexcept;
  [[nodiscard]] bool is_linear() const noexcept { return is_linear_; }
  /// All but for linear ones, of which there may be many.
  [[nodiscard]] std::span<const double> values() const noexcept { return values_; }
  [[nodiscard]] kernels::LevelSet levels() const noexcept;
  /// With opposite signs, for scales below zero.
  [[nodiscard]] CodeValues mirrored() const;
  /// Whether they are their own mirror image.
  [[nodiscard]] bool is_symmetric() const noexcept { return is_symmetric_; }

  struct Nearest {
    double value = 0;
    std::uint32_t code = 0;  ///< as stored
  };
  /// To x; of two, ties of integers go to the even one, and others to the lower.
  [[nodiscard]] Nearest nearest(double x) const noexcept;
  /// The value of a code as stored, of the bits that the format has.
  [[nodiscard]] float value_of(std::uint32_t code) const noexcept;

 private:
  void take(std::span<const float> by_code);
  void finish();

  double low_ = 0;
  double high_ = 0;
  bool is_linear_ = false;
  bool is_symmetric_ = false;
  int bits_ = 0;
  bool is_signed_ = false;
  double zero_point_ = 0;
  std::vector<double> values_;
  std::vector<double> thresholds_;  ///< between one and the next
  std::vector<double> from_zero_;   ///< of symmetric ones, those that are not negative
  std::vector<std::uint32_t> codes_;
  std::vector<float> by_code_;
};

}  // namespace quadrant::inline v0
