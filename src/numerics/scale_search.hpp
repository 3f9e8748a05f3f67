// The scale, and where it is free the zero point, at which quantization costs least.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/magnitudes.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

/// Among which scales to look, and what a scale costs.
struct ScaleDomain {
  double least = 0;        ///< smallest scale; 0: any
  double most = 0;         ///< largest scale
  std::int64_t below = 0;  ///< codes below that of zero
  std::int64_t above = 0;  ///< codes above it
  bool free_zero = false;  ///< each of the below + above + 1 codes may be that of zero
  double gamma = 1;        ///< at least 1: how much more the squared error of clipped values costs
};

struct FoundScale {
  double scale = 0;
  std::int64_t below = 0;  ///< codes below that of zero
};

/// At scale s and with r codes below zero's and p above it, value w has the code
/// q = clamp(round(w / s), -r, p) and costs (w - s q)^2, or gamma (w - s q)^2 if it is clipped: if
/// it lies outside [-s r, s p]. To find the least sum over s and, if zero is free, r:
///
///   gain(s) = gamma sum w^2 - least cost at s
///
/// For given codes q, and given clipped values, it would be a sum of
///   gamma w^2 - (w - s q)^2 = (gamma - 1) w^2 + 2 s w q - s^2 q^2       inside, and of
///   gamma w^2 - gamma (w - s q)^2 = gamma (2 s w q - s^2 q^2)           if clipped.
/// Divided by s^2 and seen as functions of t = 1 / s, those are convex; they meet smoothly where a
/// value is clipped, and of the codes the best are taken, the upper envelope: gain / s^2 is convex
/// in 1 / s. Between two scales it lies below its chord, so that
///
///   the gain lies below the parabola a s - b s^2 through its two ends.
///
/// That bound, better with the square of the distance, makes for branch and bound: the interval of
/// the highest bound is divided where its parabola is highest, until no bound is above the best
/// gain found. For gamma = 1 the gain consists of such parabolas: what is found is the least cost
/// there is, up to rounding (of the sums, about 1e-13 of sum w^2). For other gammas, and values
/// inside, bounds come near the gain without reaching it: the cost is the least up to 1e-7 of it.
///
/// Costs at a scale are found without a pass over the values: in the sorted magnitudes' sums, for
/// each code. So is the best zero point, in a binary search: a side's cost is convex in the number
/// of its codes. There are some hundred scales to look at, some thousand at 16 bits; a search that
/// takes more than `most_looks` at codes or values ends with the best until then.
///
/// One search a thread; it keeps its memory from one group to the next.
class ScaleSearch {
 public:
  /// Finite values, in any order.
  void load(std::span<const float> values);
  /// In ascending order.
  void load(std::span<const WeightedValue> values);

  /// The scale of least cost in `domain` if that is below `bound`.
  [[nodiscard]] std::optional<FoundScale> best(const ScaleDomain& domain, double bound);

  static constexpr double most_looks = 3e8;

 private:
  struct Sample {
    double scale = 0;
    double gain = 0;
  };
  struct Interval {
    Sample low;
    Sample high;
    double vertex = 0;  ///< where its parabola is highest
    double bound = 0;   ///< the gain there

    [[nodiscard]] static Interval between(const Sample& low, const Sample& high) noexcept;
  };

  [[nodiscard]] double power() const noexcept { return above_.all().power + below_.all().power; }
  Sample look_at(double scale);
  [[nodiscard]] double vertex_of(const FoundScale& found) const;
  [[nodiscard]] double gain_to_beat() const noexcept;
  void push(const Interval& interval);
  [[nodiscard]] double gain(const Magnitudes& side, double scale, std::int64_t codes) const;
  [[nodiscard]] double saved_by_one_more(const Magnitudes& side, double scale,
                                         std::int64_t codes) const;
  [[nodiscard]] std::int64_t best_codes_above(double scale) const;
  [[nodiscard]] double least_clipping_cost(double scale) const;

  Magnitudes above_;
  Magnitudes below_;
  std::vector<float> sorted_;

  ScaleDomain domain_;
  double best_gain_ = 0;
  double all_ = 0;  ///< gamma sum w^2
  double looks_ = 0;
  std::optional<FoundScale> found_;
  std::vector<Interval> intervals_;  ///< a heap
};

}  // namespace quadrant::inline v0
