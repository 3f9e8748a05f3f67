// Weights as they are stored: what they take, what their scales are, and their codes.
#pragma once

#include <string_view>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/round_weights.hpp"

namespace quadrant::inline v0::weight_only {

/// Bytes in float, and as codes of `groups` with their parameters. `shape`: that of the weight.
[[nodiscard]] StorageChange stored_size(const WeightOnly& scheme, const Constant& weight,
                                        const Shape& shape, const Granularity& groups);

/// Rounds `encoded` by moments, as the scheme's options say.
[[nodiscard]] Expected<void> round_by(const SecondMoments& moments, const WeightOnly& scheme,
                                      std::string_view name, const Constant& weight,
                                      EncodedConstant& encoded);

/// For the data pass at `node`: keeps what `stored_weight` needs, or refuses NaN.
[[nodiscard]] Expected<void> examine_weight(const WeightOnly& scheme, NodeRef node,
                                            const Constant& given, const Granularity& groups,
                                            DataContext& context);

/// Codes, and what they stand for.
struct StoredWeight {
  Constant codes;
  Quantization quantization;
};

/// Of `weight`, which the data pass saw at `node`, in those groups.
[[nodiscard]] Expected<StoredWeight> stored_weight(const WeightOnly& scheme, NodeRef node,
                                                   const Constant& weight,
                                                   const Granularity& groups,
                                                   const RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
