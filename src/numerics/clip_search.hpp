// The scale and the zero point of least squared error for a group of values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/scale_rule.hpp"

namespace quadrant::inline v0 {

/// Clip::mse, exactly. Seen from a zero point, value w has at scale s > 0 the code
/// q = clamp(round(w / s), lo, hi), of all codes the one whose s q is nearest, so that the error
///
///   E(s) = sum (w - s q)^2 = W - 2 s A + s^2 B     W = sum w^2, A = sum w q, B = sum q^2
///
/// is continuous, and a parabola between the breakpoints, the scales at which some w / s crosses a
/// k + 1/2. Codes that are kept when s leaves their piece are no better than the right ones: no
/// piece's parabola lies below E anywhere. So the least E is that of the least vertex, W - A^2 / B
/// at s = A / B, or lies at the end of the domain, and it takes no more than following A and B from
/// breakpoint to breakpoint, downwards. The error of clipping alone, a part of E that grows as s
/// falls, says when to stop.
///
/// One search a thread; it keeps its memory from one group to the next.
class ClipSearch {
 public:
  /// `rule` has been checked.
  explicit ClipSearch(const ScaleRule& rule) : rule_(rule) {}

  /// For finite `values`, of any number.
  [[nodiscard]] GroupParameters best(std::span<const float> values);

 private:
  // At `scale` the code of a value grows by one, without its sign: A by the magnitude, B by the
  // difference of the squares.
  struct Breakpoint {
    double scale = 0;
    float magnitude = 0;
    std::int32_t squares = 0;
  };
  // The values on one side of zero.
  struct Side {
    std::vector<float> magnitudes;
    std::vector<std::int32_t> codes;  ///< without signs; at the scale that a sweep has come to
    std::int64_t limit = 0;           ///< largest code

    [[nodiscard]] double clipping_error(double scale, std::int64_t at) const;
  };
  // A sweep's values of the formula, and what it expects below the scale that it has come to.
  struct Sums {
    double a = 0;
    double b = 0;
    double clipping_error = 0;
    double open = 0;  ///< sum of the magnitudes whose codes are below the limit
  };
  struct Winner {
    double scale = 0;  ///< with its sign; 0: none has been better than the bound yet
    std::int64_t zero_point = 0;
  };

  void search_zero_points(double cap, std::int64_t start);
  void sweep(const CodeRange& codes, Winner at, double cap);
  void advance(Side& side, double low, Sums& sums);
  [[nodiscard]] double bound() const noexcept { return power_ - gain_; }

  ScaleRule rule_;
  Side above_;
  Side below_;
  double power_ = 0;  ///< W
  double gain_ = 0;   ///< the largest W - E so far
  Winner winner_;
  std::vector<Breakpoint> breakpoints_;
};

}  // namespace quadrant::inline v0
