// What a module says of its values: statistics, and which belong together. The dialect's operations
// for it (quant.stats, quant.coupled_ref) are gone since version 16, so they are attributes, which
// MLIR carries along: of the operation that makes the value, or of the function's argument.
//
//   %y = linalg.matmul {quadrant.stats = dense<[-1.5, 2.0]> : tensor<2xf32>} ins(...) outs(...)
//   func.func @f(%x: tensor<2x4xf32> {quadrant.stats = dense<[-1.0, 1.0]> : tensor<2xf32>})
#pragma once

#include "mlir_plugin/function_graph.hpp"
#include "quadrant/engine/phases/selection.hpp"
#include "quadrant/numerics/statistics.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// `quadrant.stats`: [min, max], or [n x 2] with the extremes of each index of an axis, of the
/// first result. `invalid_model` for attributes of another form, for numbers that are no finite
/// float32, and for a minimum above the maximum.
[[nodiscard]] Expected<StatisticsTable> read_statistics(const FunctionGraph& graph);

/// Adds what a program that `quadrant-instrument` made has gathered of this function's values, but
/// for those that are in `statistics` already. `invalid_model` for a value that the function has
/// not: the module was another one, or other passes ran in front.
[[nodiscard]] Expected<void> add_gathered(const FunctionGraph& graph,
                                          const StatisticsTable& gathered,
                                          StatisticsTable& statistics);

/// `quadrant.coupled_ref`: a string; results with the same one have the same parameters.
/// `invalid_model` for what is none.
[[nodiscard]] Expected<Couplings> read_couplings(const FunctionGraph& graph);

}  // namespace quadrant::inline v0::mlir_plugin
