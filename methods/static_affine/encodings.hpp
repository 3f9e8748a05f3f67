// Scales and zero points: what `resolve` computes for each role.
#pragma once

#include <memory>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/numerics/second_moments.hpp"

namespace quadrant::inline v0::static_affine {

using Query = ParameterQuery<AffineForm>;
using FoundType = Expected<std::shared_ptr<const UniformType>>;

inline constexpr const char* unknown_range = "nothing is known of its range: calibrate the model";

/// Why there is no encoding for the value as an activation: a literal, or null.
[[nodiscard]] const char* activation_refusal(const StaticAffineOptions& options,
                                             const GraphView& graph, Value value);

/// Of a value's form, where one is prescribed for one of the members; null where none is.
[[nodiscard]] FoundType prescribed_type(const StaticAffineOptions& options, const Query& query);

/// What is prescribed for the value, or else for one that shares its parameters with it because
/// one limits or moves the other; null where nothing is.
[[nodiscard]] const PrescribedEncodings::value_type* prescription(
    const StaticAffineOptions& options, const GraphView& graph, Value value);

/// Of values that share one: of all that was observed of them, or of their contents.
[[nodiscard]] FoundType activation_type(const StaticAffineOptions& options, const Query& query);

/// How kernels add products of a constant in 16 bits.
struct WeightPairs {
  std::vector<PairOrder> orders;  ///< in its own axes; none: they do not, or may
  bool have_two_scales = false;   ///< some order goes along the axis of the scales
};

[[nodiscard]] WeightPairs pairs_of(const StaticAffineOptions& options, const GraphView& graph,
                                   Value constant, const Granularity& granularity);

/// Of a constant. With the data's parameters as a source, scales are so large that the bias of the
/// product fits into its sum. Null for what is no constant: its type moves with the codes.
[[nodiscard]] FoundType weight_type(const StaticAffineOptions& options, const Query& query);

/// With the parameters of data and weight as sources, their product; else of its own contents.
[[nodiscard]] FoundType bias_type(const StaticAffineOptions& options, const Query& query);

}  // namespace quadrant::inline v0::static_affine
