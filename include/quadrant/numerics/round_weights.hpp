// Codes of weights by what they do to a layer's results: with second moments of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Each does what those before it do, and keeps it where it is no better.
enum class Rounding : std::uint8_t {
  nearest,   ///< each weight to what its codes can say that is nearest: without data
  weighted,  ///< the same, with scales of least error where each weight counts by its inputs
  feedback,  ///< weight after weight, those that follow making up for the errors so far
  descent,   ///< then one code at a time, and some scales, while the error falls
};

[[nodiscard]] std::string_view to_string(Rounding rounding) noexcept;

struct RoundWeightsOptions {
  Rounding rounding = Rounding::descent;
  /// How far estimates are drawn to what they are for inputs that do not depend on one another,
  /// 0 to 1; negative: by the number of inputs and columns.
  double shrinkage = -1;
  /// Where codes have zero points: those of `encoded` stay, all the same, as symmetric codes have.
  bool keeps_zero_points = false;
  /// Where tables are stored: that of `encoded` stays, one for all; else `weighted` finds others.
  bool keeps_table = false;
  float least_scale = 0;         ///< no scale that is found is smaller
  int most_sweeps = 50;          ///< of descent
  Executor* executor = nullptr;  ///< null: the calling thread alone. Results do not depend on it.
};

/// Sums over rows of e E[x x^T] e^T, e being what rounding adds to the row: the mean of what that
/// adds, squared, to the results of the layer. A weight with several matrices sums up these.
struct RoundedWeights {
  double nearest = 0;  ///< of `encoded` as it was
  double error = 0;    ///< of `encoded` as it is: never more, but by rounders of one's own
  std::int64_t rows = 0;
  std::int64_t weighted = 0;  ///< rows in which scales by the inputs were better
  std::int64_t feedback = 0;  ///< in which error feedback was better than nearest
  std::int64_t descent = 0;   ///< in which descent still found something
};

/// Finds codes for `values`, the elements of a weight of shape `shape`, in `format`, so that the
/// error at the results of the layer is small; `encoded` is what they were encoded as without data
/// (`encode`, or any other scales), and gets codes and scales that are better. Its `error` and
/// `bound` stay those of before. Each row takes the best of what was tried, by the moments as they
/// were measured; where scales are shared, `weighted` is taken for all rows or none.
///
/// `weighted`: scales by `encode` with E[x^2] as weights. `feedback`: Babai's nearest plane in the
/// lattice of the Cholesky factor, columns of largest E[x^2] first: the codes that GPTQ finds
/// (arXiv 2210.17323, 2507.18553), with scales that are known before. `descent`: exact minimization
/// over one code at a time, column by column, until none is left that is better by the estimate, or
/// `most_sweeps` ends it; then, twice at most, over one scale at a time, where a scale is the only
/// level and belongs to one row, and over codes again.
///
/// Until a row is descended, its errors are computed in single precision, to 10^-6 of the sum of
/// E[x_c^2] e_c^2; where that does not tell which of two is less, in double. Where all inputs are
/// 0, all stays as it is. Memory: three matrices of a double for each pair of columns, while one
/// matrix of the weight is rounded, and a float for each weight. `impossible`: sizes that do not
/// fit one another, moments of another weight, rows of one matrix whose groups differ, and what
/// `encode` refuses.
[[nodiscard]] Expected<RoundedWeights> round_weights(std::span<const float> values,
                                                     const Shape& shape, const NumberFormat& format,
                                                     const SecondMoments& moments, Encoded& encoded,
                                                     const RoundWeightsOptions& options = {});

}  // namespace quadrant::inline v0
