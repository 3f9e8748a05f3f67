// What weight-only needs to know of an operation that computes sums of products with weights.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::weight_only {

/// An operand that may be a weight. Its sum runs over axis `contracted` (and perhaps others): a
/// scale that varied along it could not be taken out of the sum.
struct Weight {
  std::uint32_t operand = 0;
  std::int64_t channel = -1;     ///< the axis that the sum keeps; -1: none
  std::int64_t contracted = -1;  ///< -1: none that is worth blocks
  /// Where `channel` is in the result, counted from the end: 1 is the last axis. 0: the scale
  /// cannot be multiplied behind.
  std::int64_t result_axis = 0;
  std::int64_t repeats = 1;  ///< how many times the channels come along that axis
};

/// An operand that is added to the sum.
struct Bias {
  std::uint32_t operand = 0;
  bool is_channelwise = false;  ///< one number for each channel; else it broadcasts to the result
  bool is_required = false;     ///< the operation cannot do without
  bool is_row = false;          ///< one axis at most, the last one of the result
};

// NOLINTNEXTLINE(bugprone-exception-escape): small_vector's own moves, where there is no memory
struct Weighted {
  /// Asked of every node: two, as nearly all have, without allocation.
  boost::container::small_vector<Weight, 2> weights;
  std::optional<Bias> bias;
};

/// Asks for each weight in the groups, and the form, of the scheme's options.
void request_weights(const WeightOnly& scheme, NodeRef node, const Weighted& weighted,
                     Asks<Granularity>& asks);

/// For each weight that was granted as codes, the scale goes behind the sum:
///
///   y = sum(x w) + b   becomes   y = (sum(x codes) + b / scale) * scale
///
/// with the quotient computed now where the bias is a constant, else with the bias added behind.
/// Equal in exact arithmetic, as the scale is the same for all terms of a sum; in floating point,
/// as near as another order of the same sum.
[[nodiscard]] Expected<void> put_scales_behind(NodeRef node, const Weighted& weighted,
                                               RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
