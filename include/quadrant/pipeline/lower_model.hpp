// A model as a format, or a target's kernels, want it: the last step before it is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run_context.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/computation.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct LowerModelOptions {
  bool always_reports = false;  ///< also what a target computes of a model that is not quantized
  bool repair_ranges = false;   ///< a fake_quantize whose grid misses zero is moved
  Recipe made_by{};             ///< what quantized the model; or nothing
  std::string model{};          ///< its file, for places of errors
};

struct LoweredModel {
  Graph graph;
  std::optional<ComputationReport> report;  ///< of the target, if there is one
  std::vector<std::string> remarks;         ///< for people
};

/// Resolves operations that ONNX alone has, converts simulated quantization, splits fake_quantize
/// where the format has none, fuses what the target computes on codes, and says where sums of its
/// products meet in 16 bits.
[[nodiscard]] Expected<LoweredModel> lower_model(Graph graph, const Destination& destination,
                                                 const LowerModelOptions& options = {},
                                                 const RunContext& context = {});

/// `usage` where a file of the format cannot say what the target computes, or where there are no
/// ranges to repair.
[[nodiscard]] Expected<void> check_lower_model(const Destination& destination,
                                               const LowerModelOptions& options);

}  // namespace quadrant::inline v0
