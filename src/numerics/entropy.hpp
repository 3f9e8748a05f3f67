// The range whose quantization tells most of the values' distribution.
#pragma once

#include "numerics/distribution.hpp"
#include "numerics/range_encoding.hpp"

namespace quadrant::inline v0 {

/// See EncodingMethod::entropy. Let m be the largest magnitude, of a distribution that is not
/// empty, and w = m / 2048; value x belongs to bin round(x / w), ties away from zero. For each
/// k <= 2048 the candidate is the range clipped to +-(k + 1/2) w, unless it has fewer bins than
/// codes. For it,
///
///   P   is the count of each bin in the range, where the outermost bins also have what lies beyond
///   Q   is the count of each code, without what lies beyond: that of the bins whose centres have
///       that code, spread evenly over those of them where P is not 0
///
/// and the divergence sum p ln(p / q) of both, each divided by its sum, is to be least; of equal
/// ones the widest range is taken. Where P is not 0 but Q is, q is 1e-8 of the sum: an outlier
/// costs something, not everything. A range without any value is no candidate.
[[nodiscard]] RealRange entropy_range(const Distribution& distribution, const EncodingRule& rule);

}  // namespace quadrant::inline v0
