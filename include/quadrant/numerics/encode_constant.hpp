// Whole constants in a number format, as a graph holds them.
#pragma once

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
};

/// `real`, of any float type, in `format`: see `encode`, whose errors and memory are those of this.
/// Reads it whole, as float32. Codes and scales are in memory.
///
/// Where a uniform type has no scale of 0, as a group of zeros would have it, that is 1.
[[nodiscard]] Expected<EncodedConstant> encode_constant(const Constant& real,
                                                        const NumberFormat& format,
                                                        const EncodeOptions& options = {});

/// `round_weights` of a constant: `encoded` is what it was encoded as, in any format, uniform or
/// not. Where a uniform type has scales below zero, those that are found may have any sign; `error`
/// and `bound` stay.
[[nodiscard]] Expected<RoundedWeights> round_constant(const Constant& real,
                                                      const SecondMoments& moments,
                                                      EncodedConstant& encoded,
                                                      const RoundWeightsOptions& options = {});

}  // namespace quadrant::inline v0
