// The scale at which the quantization of a few values costs least.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/kernels/scale_grid.hpp"
#include "numerics/scale_rule.hpp"
#include "numerics/scale_search.hpp"

namespace quadrant::inline v0 {

/// What ScaleSearch finds for gamma 1, faster for few values and few codes: blocks of 4 bits.
///
/// A scale that costs less than a known cost c clips the largest magnitude m of a side with k codes
/// by at most the root of c: it is at least (m - sqrt(c)) / k. Between that and the domain's end a
/// grid of scales is looked at, all values for many scales at a time, in float32. As ScaleSearch
/// says, gains between two scales lie below a parabola through both: that leaves few intervals that
/// may hold a better scale. Each of these is swept in double, from one change of a code to the
/// next: between changes the gain is a parabola, whose top is known.
///
/// One search a thread; it keeps its memory from one group to the next.
class SmallScaleSearch {
 public:
  static constexpr std::size_t most_values = kernels::ScaleGrid::most_values;
  static constexpr std::int64_t most_codes = 31;

  /// Finite values, at most `most_values`, not all 0, and how far they reach.
  void load(std::span<const float> values, const ValueRange& range);

  /// The scale of least cost in `domain`, whose zero is fixed and whose least is 0, if that cost is
  /// below `bound`; both sides together have at most `most_codes` codes. Whether that `is_likely`
  /// changes the time that it takes alone.
  [[nodiscard]] std::optional<FoundScale> best(const ScaleDomain& domain, double bound,
                                               bool is_likely = true);

  /// Whether the scale that was found last costs less than `bound` even if it is rounded to
  /// float32.
  [[nodiscard]] bool is_surely_better() const noexcept { return is_surely_better_; }

 private:
  struct Change {
    double scale = 0;      ///< below it, the code is one more
    double magnitude = 0;  ///< of the value
    double code = 0;       ///< above it
  };

  void sweep(double low, double high);
  void look_between(double low, double high, double a, double b);

  double unit_ = 1;            ///< a power of 2: values are so many times these
  double factor_ = 1;          ///< 1 / unit_
  std::vector<float> values_;  ///< below 2 by magnitude
  double above_ = 0;           ///< the largest
  double below_ = 0;           ///< minus the smallest, where that is negative
  double power_ = 0;           ///< sum of the squares

  ScaleDomain domain_;
  double best_gain_ = 0;
  double best_scale_ = 0;
  bool is_surely_better_ = false;
  kernels::ScaleGrid grid_;
  // Of a sweep: codes at both ends, and which values have two.
  std::array<float, most_values> low_codes_{};
  std::array<float, most_values> high_codes_{};
  std::array<std::uint32_t, most_values> changed_{};
  std::vector<Change> changes_;
};

}  // namespace quadrant::inline v0
