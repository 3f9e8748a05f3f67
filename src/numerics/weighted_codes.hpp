// Codes of least error where each weight counts by its inputs.
#pragma once

#include <span>

#include "quadrant/numerics/round_weights.hpp"

namespace quadrant::inline v0 {

/// By `encode` with E[x^2] as weights; of `encoded` stays what `options` says. Errors are those of
/// `encode`, and `impossible` where that cannot stay.
[[nodiscard]] Expected<Encoded> weighted_codes(std::span<const float> values, const Shape& shape,
                                               const NumberFormat& format,
                                               const SecondMoments& moments, const Encoded& encoded,
                                               const RoundWeightsOptions& options);

}  // namespace quadrant::inline v0
