// Which layer, quantized alone, costs how much at the outputs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0 {

/// How the outputs of the model agree with its own when one layer is quantized.
struct LayerSensitivity {
  std::string layer;
  std::vector<ValueAgreement> outputs;  ///< in the model's order
  bool is_cached = false;               ///< measured by an earlier run

  /// The lowest SQNR of any output, in decibels.
  [[nodiscard]] double sqnr_db() const;
};

/// What earlier runs measured, by layer. It is of use to a run with the same fingerprint alone.
struct SensitivityCache {
  std::uint64_t fingerprint = 0;
  std::map<std::string, std::vector<ValueAgreement>> layers;
};

/// Tells one measurement from another by their contents: structure and weights of the model, all
/// samples, and what else decides the outcome (`settings`: the scheme and its options). Reads
/// everything once.
[[nodiscard]] Expected<std::uint64_t> sensitivity_fingerprint(const Graph& graph,
                                                              const DataSet& data,
                                                              std::string_view settings);

/// Makes the model with this one layer quantized. Called from several threads at once.
using QuantizeAlone = FunctionRef<Expected<Graph>(const std::string& layer)>;

struct SensitivityOptions {
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress in layers; may be null
  /// Layers that are in it are not measured again, others are added; may be null. The caller has
  /// checked its fingerprint.
  SensitivityCache* cache = nullptr;
  /// How many bytes of the model's own outputs may be kept; what does not fit is computed again
  /// for each layer.
  std::uint64_t memory = std::uint64_t{256} << 20U;
};

/// Measures each of `layers`, in their order. Models and samples are run side by side; memory:
/// `memory`, the weights of the model once, and a few variants of it at a time. `settled`, called
/// from the calling thread now and then, may save the cache; an error ends the run. Errors of
/// `quantize_alone`, the runtime and the data are handed on.
[[nodiscard]] Expected<std::vector<LayerSensitivity>> measure_sensitivity(
    const Graph& graph, std::span<const std::string> layers, QuantizeAlone quantize_alone,
    const Runtime& runtime, const DataSet& data, const SensitivityOptions& options,
    FunctionRef<Expected<void>()> settled);

/// Reads all constants that lie in files, so that variants of the graph share them in memory. What
/// is deferred because it is computed is computed.
[[nodiscard]] Expected<void> hold_constants(Graph& graph);

}  // namespace quadrant::inline v0
