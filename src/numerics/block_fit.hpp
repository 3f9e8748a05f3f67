// Scale, offset and codes of one group of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/code_values.hpp"
#include "numerics/level_search.hpp"
#include "numerics/scale_steps.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

/// What a group has been given, and the sums that say what other scales would cost with the same
/// codes: with v = scale * value of each code, h the weights,
///
///   cost(a, m) = sum h (w - a v + m)^2
struct BlockFit {
  float scale = 0;     ///< of the innermost level alone; it may be negative
  float offset = 0;    ///< the zero point, or the innermost level of the minimum
  double scaled = 0;   ///< the scale with all levels
  double minimum = 0;  ///< the minimum with all levels
  double h = 0;
  double w = 0;   ///< sum h w
  double ww = 0;  ///< sum h w w
  double v = 0;   ///< sum h v
  double vv = 0;
  double wv = 0;

  [[nodiscard]] double cost() const noexcept { return cost(1, minimum); }
  [[nodiscard]] double cost(double a, double m) const noexcept {
    return ww - 2 * a * wv + a * a * vv + m * (2 * (w - a * v) + m * h);
  }
  /// The minimum of least cost.
  [[nodiscard]] double best_minimum(double a) const noexcept { return h > 0 ? (a * v - w) / h : 0; }
  /// What is above becomes so many times what it was.
  void stretch(double scales, double minima) noexcept {
    scaled *= scales;
    v *= scales;
    vv *= scales * scales;
    wv *= scales;
    minimum *= minima;
  }
};

/// What is above a group's own levels.
struct AboveBlock {
  float scale = 1;
  float minimum = 1;
};

/// One a thread; it keeps its memory from one group to the next.
class BlockFitter {
 public:
  /// `format` has been verified and outlives this.
  explicit BlockFitter(const NumberFormat& format) : format_(format) {}

  /// Finite values, which outlive what follows, and their codes' values.
  void load(std::span<const float> values, std::span<const float> weights, const CodeValues& codes,
            const CodeValues& mirrored);

  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }
  [[nodiscard]] std::span<const float> weights() const noexcept { return weights_; }

  /// The real scale and minimum, not rounded, of the usual rule: see `encode`. Of integers with
  /// zero points, the scale.
  struct Usual {
    double scale = 0;
    double minimum = 0;
    double cost = 0;  ///< of `free`
  };
  [[nodiscard]] Usual usual() const noexcept;

  /// Rounded to what the levels hold; not measured.
  [[nodiscard]] BlockFit stored(const Usual& usual, const AboveBlock& above);
  /// No more than `fit` costs, which is of these values and `above`. Exact without a minimum.
  [[nodiscard]] BlockFit search(const BlockFit& fit, const AboveBlock& above);
  /// The scale, and the minimum, that would be best if they were free. Exact without a minimum;
  /// not for zero points.
  [[nodiscard]] Usual free();

  /// With the nearest codes.
  [[nodiscard]] BlockFit measured(float scale, float offset, const AboveBlock& above);
  /// What no real scale and minimum cost less than, given what `free` found; 0 if not known.
  [[nodiscard]] double bound(const Usual& found);
  /// What `free` found, with the nearest codes.
  [[nodiscard]] BlockFit measured_free(const Usual& found);
  /// The places of the nearest of `codes` for a scale and a minimum with all levels; valid until
  /// the next are asked for.
  [[nodiscard]] std::span<const std::uint16_t> nearest(const CodeValues& codes, double scaled,
                                                       double minimum);

 private:
  [[nodiscard]] const ScaleLevel* scale_level() const noexcept {
    return format_.scales.empty() ? nullptr : &format_.scales.back();
  }
  void add_sums(const CodeValues& codes, BlockFit& fit);
  [[nodiscard]] bool may_be_negative() const noexcept;
  [[nodiscard]] BlockFit search_signs(const BlockFit& fit, const AboveBlock& above);
  [[nodiscard]] BlockFit search_zero_points(const BlockFit& fit, const AboveBlock& above);
  /// What is stored of a scale and a minimum.
  struct Stored {
    float scale = 0;
    float offset = 0;
  };
  [[nodiscard]] Stored best_near(const BlockFit& fit, const AboveBlock& above);
  [[nodiscard]] BlockFit search_minima(const BlockFit& fit, const AboveBlock& above);
  [[nodiscard]] Usual free_minimum();
  /// Those that make no infinity of a code.
  [[nodiscard]] ScaleSteps scales(float above, bool negative) const noexcept;
  [[nodiscard]] ScaleSteps minima(float above, bool negative) const noexcept;
  [[nodiscard]] bool is_large() const noexcept;
  [[nodiscard]] double largest_scale() const noexcept;
  [[nodiscard]] BlockFit placed(float scale, float offset, const AboveBlock& above) const noexcept;

  const NumberFormat& format_;
  std::span<const float> values_;
  std::span<const float> weights_;
  const CodeValues* codes_ = nullptr;
  const CodeValues* mirrored_ = nullptr;
  std::vector<std::uint16_t> places_;
  LevelSearch search_;
  bool is_loaded_ = false;  ///< the search is
  float largest_ = 0;
  float smallest_ = 0;
};

}  // namespace quadrant::inline v0
