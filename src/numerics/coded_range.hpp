// The float values that codes of one scale stand for, and what rounding to them does to values.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// `step` apart, from `low` to `high`, ends included.
struct CodedRange {
  double low = 0;
  double high = 0;
  double step = 1;  ///< above 0
  std::int64_t zero_point = 0;

  /// The nearest of them.
  [[nodiscard]] double rounded(double real) const noexcept;
  /// Whether a value lies so far outside that it loses more than half a step.
  [[nodiscard]] bool clips(double real) const noexcept;
};

/// Empty where not all elements share one scale, for codes that are no integers, and for those with
/// a minimum. Reads scales and zero points.
[[nodiscard]] Expected<std::optional<CodedRange>> coded_range(const Quantization& type);

/// Of values that become codes.
struct CodingEffect {
  std::uint64_t count = 0;
  std::uint64_t clipped = 0;
  std::uint64_t at_low = 0;  ///< those that become `low`, which need not be clipped
  std::uint64_t at_high = 0;
  double signal = 0;  ///< sum of squares of the values
  double noise = 0;   ///< of what rounding and clipping add
};

/// Of the finite values that a histogram with bins has counted. They are taken to be spread evenly
/// within their bins, so that the noise is right for steps that are finer than bins, too; counts
/// are right but for the bins in which a border lies.
[[nodiscard]] CodingEffect coding_effect(const Histogram& values, const CodedRange& range);

}  // namespace quadrant::inline v0
