// Second moments of what the layers of a model compute on: what weights are rounded by.
//
//   auto moments = collect_second_moments(graph, Interpreter(), data);
//   WeightOnlyOptions options{.bits = 4};
//   options.moments = std::make_shared<const SecondMomentsTable>(std::move(*moments));
//   auto result = quantize_weight_only(graph, options);
#pragma once

#include <cstdint>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct CollectMomentsOptions {
  /// Of all sums together, and of the weights that convolutions are asked with.
  std::uint64_t most_bytes = std::uint64_t{4} << 30U;
  /// Of a layer, in one sample: of a larger image, so many positions, evenly spread. A prime, lest
  /// they lie in few columns.
  std::int64_t most_inputs_of_sample = 4093;
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress; may be null
};

/// Runs all samples twice, first for the largest magnitude that each channel of a layer's input
/// has, which is the end of its grid (SecondMoments), then for the sums.
///
/// Layers are the sums of products with a constant of floats, perhaps behind an identity, a
/// transpose, a cast, or what keeps the order of its elements: conv, conv_transpose, matmul,
/// batch_matmul, gemm, linear, addmm, and of rnn, gru and lstm the weights of inputs and, by the
/// results in place of the states, those of states. What a convolution multiplies its weights by is
/// what it makes of weights that are 1 at one place each. Layers that share a weight add up to one
/// sum.
///
/// Left are weights whose layers read them in different ways, that others read, too (a table that
/// is looked up), whose inputs are all 0 or not finite, and
/// those for which there is no room: sums that have no place in `most_bytes`, layers taken in the
/// order of the graph, and inputs of which a convolution makes more than the interpreter allows.
///
/// Errors: `usage` without samples; those of the runtime and the data, with the name of the sample.
[[nodiscard]] Expected<SecondMomentsTable> collect_second_moments(
    const Graph& graph, const Runtime& runtime, const DataSet& data,
    const CollectMomentsOptions& options = {});

}  // namespace quadrant::inline v0
