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
  descent,   ///< then one code or scale at a time, until no change of one lowers the error
};

[[nodiscard]] std::string_view to_string(Rounding rounding) noexcept;

struct RoundWeightsOptions {
  Rounding rounding = Rounding::descent;
  /// How far estimates are drawn to what they are for inputs that do not depend on one another,
  /// 0 to 1; negative: by the number of inputs and columns.
  double shrinkage = -1;
  int most_sweeps = 50;          ///< of descent
  Executor* executor = nullptr;  ///< null: the calling thread alone. Results do not depend on it.
};

/// Sums over rows of e E[x x^T] e^T, e being what rounding adds to the row: the mean of what that
/// adds, squared, to the results of the layer. A weight with several matrices sums up these.
struct RoundedWeights {
  double nearest = 0;  ///< of `encoded` as it was
  double error = 0;    ///< of `encoded` as it is: never more
  std::int64_t rows = 0;
  std::int64_t weighted = 0;  ///< rows in which scales by the inputs were better
  std::int64_t feedback = 0;  ///< in which error feedback was better than nearest
  std::int64_t descent = 0;   ///< in which descent still found something
};

/// Finds codes for `values`, the elements of a weight of shape `shape`, in `format`, so that the
/// error at the results of the layer is small; `encoded` is what they were encoded as without data
/// (`encode`, or any other scales), and becomes what was found. Each row takes the best of what was
/// tried, by the moments as they are.
///
/// `weighted`: scales by `encode` with E[x^2] as weights, where each row has scales of its own, or
/// that is better for all rows together. `feedback`: Babai's nearest plane in the lattice of the
/// Cholesky factor, columns of largest E[x^2] first: the codes that GPTQ finds (arXiv 2210.17323,
/// 2507.18553), with scales that are known before. `descent`: exact minimization over one code at a
/// time, column by column, and over one scale of float32, float16 or bfloat16 at a time where it is
/// the only level and belongs to one row: a local optimum, unless `most_sweeps` ends it.
///
/// Columns whose inputs are all 0 keep their codes, and so does what is in no matrix. Adds to
/// `encoded.error`'s meaning nothing: it is what it was. Memory: two matrices of a double for each
/// pair of columns. `impossible` for sizes that do not fit the layout.
[[nodiscard]] Expected<RoundedWeights> round_weights(std::span<const float> values,
                                                     const Shape& shape, const NumberFormat& format,
                                                     const SecondMoments& moments, Encoded& encoded,
                                                     const RoundWeightsOptions& options = {});

}  // namespace quadrant::inline v0
