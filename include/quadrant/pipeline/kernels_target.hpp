// Targets: the runtimes whose kernels compute on codes, and how a model is prepared for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

/// The destination of a run's result: ONNX Runtime by default.
struct Destination {
  ModelFormat format = ModelFormat::onnx;
  std::optional<KernelsTarget> target{};  ///< whose kernels are to compute on codes
  bool coded_borders = false;             ///< inputs and outputs are to be codes
};

/// Names of those that models are lowered for: `tflite`, `webnn`, `onnx-qoperator`, `openvino-cpu`,
/// `openvino-gpu`, `openvino-generic`.
[[nodiscard]] std::vector<std::string> kernels_targets();
[[deprecated("to_string")]] [[nodiscard]] inline std::string name_of(KernelsTarget target) {
  return std::string(to_string(target));
}

/// Of a file, whose ending says the format, and a target by name; empty: a .tflite file's is
/// LiteRT, others have none. `usage`, with those that there are, for another name; errors are those
/// of `model_format`.
[[nodiscard]] Expected<Destination> destination_of(const std::string& path,
                                                   std::string_view target = {});

/// Whether OpenVINO's kernels are meant.
[[nodiscard]] bool is_openvino(const std::optional<KernelsTarget>& target);

/// The schemes that run for targets.
inline constexpr std::string_view fusion_scheme = "qdq_fusion";
inline constexpr std::string_view low_precision_scheme = "fake_quantize";
/// The one that runs for `target`; empty: none does.
[[nodiscard]] std::string_view scheme_of(KernelsTarget target);
/// The target NAME of a scheme; its first one where `name` is empty. Empty for a
/// scheme that no target has; a `usage` error for the target of another one.
[[nodiscard]] Expected<std::optional<KernelsTarget>> target_of(std::string_view scheme,
                                                               std::string_view name);

/// Resolves operations that ONNX alone has, for another format.
[[nodiscard]] Expected<void> resolve_for(Graph& graph, ModelFormat format);

/// Whether one of the values has codes, or is a fake_quantize, that stands for some.
[[nodiscard]] bool has_quantization(const Graph& graph);

/// Whether it has simulated quantization: const_fake_quant or fake_quant.
[[nodiscard]] bool has_simulated_quantization(const Graph& graph);
/// `quantize` and `dequantize` for each of these, but those that `remarks` then names, once what is
/// computed from constants alone is constants.
[[nodiscard]] Expected<void> convert_simulated(Graph& graph, std::vector<std::string>& remarks);

/// A model that computes on codes what its target can.
struct OnTarget {
  Graph model;  ///< what was decided on: each fake_quantize in it is a pair of its own
  Graph graph;
  Analysis analysis;  ///< of `model`
  std::vector<std::string> remarks;
};
/// `repair_ranges`: a fake_quantize whose grid misses zero is moved.
[[nodiscard]] Expected<OnTarget> compute_on(const Graph& graph, KernelsTarget target,
                                            bool repair_ranges, Executor* executor);

struct SplitForFormat {
  bool has_limits = true;  ///< the format knows codes that are part of their type
  bool repair_ranges = false;
};
/// `quantize` and `dequantize` for each fake_quantize, as far as they can say the same; adds what
/// stayed, and what was moved, to `remarks`.
[[nodiscard]] Expected<Graph> without_fake_quantize(Graph graph, const SplitForFormat& format,
                                                    std::vector<std::string>& remarks);

/// Where sums of two products meet in 16 bits, in the kernels of those runtimes that run files of
/// the format: LiteRT's sum in 32 bits.
[[nodiscard]] Expected<std::vector<PairedProduct>> paired_products(const Graph& graph,
                                                                   ModelFormat format);
/// The same of what the recipe made: of the runtime alone that it was made for, if it names one.
[[nodiscard]] Expected<std::vector<PairedProduct>> paired_products(const Graph& graph,
                                                                   ModelFormat format,
                                                                   const Recipe& recipe);

// A model as a format, or a target's kernels, want it: the last step before it is written.

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
