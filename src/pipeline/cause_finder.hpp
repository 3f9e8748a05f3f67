// Where a quantized model's errors enter, measured: all of a diagnosis but its remedies.
#pragma once

#include <optional>
#include <span>

#include "pipeline/quantized_places.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/diagnose.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct FoundCauses {
  Diagnosis diagnosis;
  /// What makes a model like the quantized one; empty: nothing of the library does.
  std::optional<Recipe> recipe{};
};

/// Worst first; more than `options.most`, since what is tried may change the order.
[[nodiscard]] Expected<FoundCauses> find_causes(const Graph& real, const Graph& quantized,
                                                const DataSet& data, const DiagnoseOptions& options,
                                                const RunContext& context);

/// How `quantized` agrees with `real` at the output that agrees least, and its name.
struct WorstOutput {
  std::string name;
  Agreement agreement;
};
[[nodiscard]] Expected<WorstOutput> worst_output(const Graph& real, const Graph& quantized,
                                                 const Runtime& runtime, const DataSet& data,
                                                 const DiagnoseOptions& options,
                                                 const RunContext& context);

/// What computes a model as integer kernels do that add products two by two in 16 bits, which those
/// for `destination` may.
[[nodiscard]] Interpreter saturating_runtime(const Destination& destination,
                                             const RunContext& context);

/// The error of `part` as a share of that of `whole`, 0 to 1: of elements that are not finite where
/// there are such, else of noise.
[[nodiscard]] double share_of(const Agreement& part, const Agreement& whole) noexcept;

}  // namespace quadrant::inline v0
