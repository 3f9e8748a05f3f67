// Codes of weights: of numbers by what they do to a layer's results, and of whole constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// Codes of weights by what they do to a layer's results: with second moments of its inputs.

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
/// Errors are computed in single precision, to 10^-6 of the sum of E[x_c^2] e_c^2; where that does
/// not tell which of two is less, in double. A step of descent gains 10^-5 of what it changes, at
/// least. Where all inputs are 0, all stays as it is. Memory: three matrices of a double for each
/// pair of columns, while one matrix of the weight is rounded, and a float for each weight.
/// `impossible`: sizes that do not fit one another, moments of another weight, rows of one matrix
/// whose groups differ, and what `encode` refuses.
[[nodiscard]] Expected<RoundedWeights> round_weights(std::span<const float> values,
                                                     const Shape& shape, const NumberFormat& format,
                                                     const SecondMoments& moments, Encoded& encoded,
                                                     const RoundWeightsOptions& options = {});

// Whole constants in a number format, as a graph holds them.

/// A constant in a format, as `dequantize` reads it.
struct EncodedConstant {
  Constant codes;  ///< of the shape of the floats, and the storage type of the format
  Quantization quantization;
  double error = 0;  ///< as in Encoded
  double bound = 0;
  /// What rounding by moments came to, if codes were found so (`round_constant`, `round_rows`).
  std::optional<RoundedWeights> rounded{};
};

/// `real`, of any float type, in `format`: see `encode`, whose errors and memory are those of this.
/// Reads it whole, as float32. Codes and scales are in memory.
///
/// Where a uniform type has no scale of 0, as a group of zeros would have it, that is 1.
[[nodiscard]] Expected<EncodedConstant> encode_constant(const Constant& real,
                                                        const NumberFormat& format,
                                                        const EncodeOptions& options = {});

/// `format`, of a whole tensor, as it stores values from -`largest` to `largest` by its usual rule
/// (`encode`): what activations are quantized to. Of zeros alone the scale is that of 1.
/// `impossible`: a format without a scale, or with scales of parts of a tensor; a magnitude that is
/// not finite, or that needs a larger scale than its type has (float16 ends at 65504); what is one
/// for `encode`.
[[nodiscard]] Expected<Quantization> scaled_for(const NumberFormat& format, float largest);

/// `round_weights` of a constant: `encoded` is what it was encoded as, in any format, uniform or
/// not. Where a uniform type has scales below zero, those that are found may have any sign; `error`
/// and `bound` stay, `rounded` is what it returns.
[[nodiscard]] Expected<RoundedWeights> round_constant(const Constant& real,
                                                      const SecondMoments& moments,
                                                      EncodedConstant& encoded,
                                                      const RoundWeightsOptions& options = {});

/// A row of a weight that is to become codes: one sum of its layer, input by input.
struct RowToRound {
  std::span<const double> real;
  std::span<const double> step;    ///< what a code of 1 stands for
  std::span<const double> factor;  ///< `SecondMoments::factor` of its matrix
  double least = 0;                ///< of the codes that there are
  double most = 0;
  std::span<double> codes;  ///< to be filled in, with integers from `least` to `most`
};

/// For rounders of one's own: finds the codes of `real` again, row by row, with the scales of
/// `encoded`, as which it was encoded: in a uniform type of 8 bits and fewer without zero points.
/// Rows come in order, on the calling thread; `rounded` says what it came to. `damping`: above 0,
/// see `SecondMoments::factor`. Memory: two doubles for each pair of columns, and 48 bytes for each
/// weight. `impossible`: another type, moments of another weight, codes that are none; `encoded` is
/// as it was then.
[[nodiscard]] Expected<void> round_rows(const Constant& real, const SecondMoments& moments,
                                        double damping, EncodedConstant& encoded,
                                        const std::function<void(const RowToRound&)>& round);

}  // namespace quadrant::inline v0
