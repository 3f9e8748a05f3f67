// Whole constants in a number format, as a graph holds them.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What `dequantize` makes reals of.
struct EncodedConstant {
  Constant codes;  ///< of the shape of the reals, and the storage type of the format
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
