// The scale at which the codes of a format cost least, among those that can be stored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/code_values.hpp"
#include "numerics/scale_steps.hpp"

namespace quadrant::inline v0 {

/// ScaleSearch for any levels l instead of integers, for weights h, and for scales that are steps:
///
///   gain(s) = sum h max over l of (2 s w l - s^2 l^2) = sum h w^2 - least cost at s
///
/// Over s^2 that is an upper envelope of lines in 1 / s, convex, whatever the levels. So between
/// two scales it lies below the parabola a s - b s^2 through both, and branch and bound ends where
/// no parabola rises above the best gain, or no step is left inside: what is found is the least
/// cost of all steps, but for rounding of about 1e-13 of sum h w^2.
///
/// Few values are looked at one by one at each scale, more by sums of the sorted ones.
///
/// One search a thread; it keeps its memory from one group to the next.
class LevelSearch {
 public:
  struct Found {
    std::int64_t step = 0;
    double gain = 0;
    std::int64_t zero_point = 0;
  };

  /// Finite values and weights, of the same number.
  void load(std::span<const float> values, std::span<const float> weights);
  /// What is added to each value, 0 at first.
  void shift_by(double shift) noexcept;
  /// sum h (w + shift)^2: the cost where all codes stand for 0.
  [[nodiscard]] double power() const noexcept;

  /// sum h w and sum h, without the shift; the extreme values with their weights.
  [[nodiscard]] double sum() const noexcept { return sum_; }
  [[nodiscard]] double weight() const noexcept { return weight_; }
  [[nodiscard]] float largest() const noexcept { return largest_.value; }
  [[nodiscard]] float smallest() const noexcept { return smallest_.value; }
  [[nodiscard]] float weight_of_largest() const noexcept { return largest_.weight; }
  [[nodiscard]] float weight_of_smallest() const noexcept { return smallest_.weight; }

  [[nodiscard]] double gain(const CodeValues& codes, double scale) const;
  /// The step of the highest gain, if that is above `gain_to_beat`. Where 0 is no level, gains
  /// may be negative.
  [[nodiscard]] std::optional<Found> best(const CodeValues& codes, const ScaleSteps& steps,
                                          double gain_to_beat);

  /// The same with each code as zero point: the gain of each side is concave in the number of its
  /// codes, so that at each scale the best is where one more on a side no longer gains; and over
  /// the square of the scale the best of convex functions is convex.
  [[nodiscard]] std::optional<Found> best_with_zero_point(const IntegerCode& code,
                                                          const ScaleSteps& steps,
                                                          double gain_to_beat);

 private:
  struct Extreme {
    float value = 0;
    float weight = 0;
  };
  struct Sample {
    std::int64_t step = 0;
    double scale = 0;
    double gain = 0;
    double rate = 0;  ///< gain / scale
  };
  struct Interval {
    Sample low;
    Sample high;
    double vertex = 0;
    double bound = 0;
  };

  void find_parts();
  [[nodiscard]] std::size_t part_of(double value) const noexcept;
  /// How many are below it.
  [[nodiscard]] std::size_t count_below(double bound) const noexcept;
  [[nodiscard]] double gain_of_sorted(const CodeValues& codes, double scale) const;
  [[nodiscard]] double least_scale(const CodeValues& codes, double cost) const noexcept;
  [[nodiscard]] double least_scale_of_range(double cost) const noexcept;
  [[nodiscard]] Found best_zero_point(double scale) const;
  [[nodiscard]] double most_scale(const CodeValues& codes, double cost) const noexcept;
  Sample look_at(const CodeValues& codes, const ScaleSteps& steps, std::int64_t step);
  void look_downwards(const CodeValues& codes, const ScaleSteps& steps, std::int64_t first,
                      std::int64_t last);
  [[nodiscard]] bool can_look_at_many(const CodeValues& codes, const ScaleSteps& steps,
                                      std::int64_t first, std::int64_t last) const noexcept;
  void look_at_many(const CodeValues& codes, const ScaleSteps& steps, std::int64_t first,
                    std::int64_t last);
  [[nodiscard]] static Interval between(const Sample& low, const Sample& high) noexcept;
  [[nodiscard]] static std::int64_t step_inside(const Interval& interval) noexcept;
  void push(const Sample& low, const Sample& high);

  std::size_t count_ = 0;
  std::vector<float> values_;  ///< padded to a multiple of 8
  std::vector<float> weights_;
  double shift_ = 0;
  double weight_ = 0;       ///< sum h
  double sum_ = 0;          ///< sum h w
  double power_ = 0;        ///< sum h w^2
  float least_weight_ = 1;  ///< of those that are not 0
  float largest_weight_ = 1;
  Extreme largest_;
  Extreme smallest_;
  Extreme heaviest_;                 ///< of the largest h w^2
  std::int32_t largest_bits_ = 0;    ///< of the largest magnitude
  std::array<double, 16> powers_{};  ///< sum h w^2 of each half octave below it, and of the rest
  // Of many: in ascending order, with the sums of those before.
  std::vector<float> sorted_;  ///< and a few infinite ones behind
  std::vector<double> weights_before_;
  std::vector<double> sums_before_;
  // Where values begin that lie in one of as many equal parts of their range, or above it.
  std::vector<std::uint32_t> begins_;
  double parts_ = 0;       ///< of one
  double most_parts_ = 0;  ///< of all

  const IntegerCode* code_ = nullptr;  ///< of which any may be the zero point
  double best_gain_ = 0;
  std::optional<Found> found_;
  double rounding_ = 0;
  std::vector<Interval> intervals_;  ///< still to be looked into
};

}  // namespace quadrant::inline v0
