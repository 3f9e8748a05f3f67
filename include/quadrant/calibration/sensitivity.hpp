// Sensitivity: what each layer, quantized alone, costs at the outputs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// What is quantized alone: a weight, or several of which none can be without the others.
struct SensitivityLayer {
  std::string name;
  /// Tells how it is quantized, in whatever way: a cache is valid only for the same decision.
  std::uint64_t decision = 0;
};

/// How the outputs of the model agree with its own when one layer is quantized.
struct LayerSensitivity {
  std::string layer;
  std::vector<ValueAgreement> outputs;  ///< in the model's order
  bool is_cached = false;               ///< measured by an earlier run

  /// The output that agrees least, the first of equals; null where the model has none.
  [[nodiscard]] const ValueAgreement* worst() const;
};

/// Whether `a` costs more than `b`, at the output of each that agrees least. A weak order.
[[nodiscard]] bool worse_than(const LayerSensitivity& a, const LayerSensitivity& b);

/// What earlier runs measured, by layer. It is valid only for a run with the same fingerprint.
struct SensitivityCache {
  struct Layer {
    std::uint64_t decision = 0;
    std::vector<ValueAgreement> outputs;  ///< in the model's order
  };
  std::uint64_t fingerprint = 0;
  std::map<std::string, Layer> layers{};
};

/// Tells one measurement from another by their contents: structure and weights of the model, all
/// samples, and what else decides the outcome of all layers (`settings`: the runtime, the scheme
/// and its options). Reads everything once.
[[nodiscard]] Expected<std::uint64_t> sensitivity_fingerprint(const Graph& graph,
                                                              const DataSet& data,
                                                              std::string_view settings);

/// Makes the model with this one layer quantized, given its index. Called from several threads at
/// once.
using QuantizeAlone = FunctionRef<Expected<Graph>(std::size_t layer)>;

struct SensitivityOptions {
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress in layers; may be null
  /// To deal layers to: all of them make the same call. Null: there are no others.
  Ranks* ranks = nullptr;
  /// Layers that are in it with the same decision are not measured again, others are added; may be
  /// null. The caller has checked its fingerprint, and that the outputs are the model's.
  SensitivityCache* cache = nullptr;
  /// How many bytes of the model's own outputs may be kept; what does not fit is computed again
  /// for each layer.
  std::uint64_t memory = std::uint64_t{256} << 20U;
};

/// Measures each of `layers`, in their order. Models and samples are run side by side; memory:
/// `memory`, the weights of the model once, and a few variants of it at a time. `settled`, called
/// from the calling thread after each layer that was measured, may save the cache; an error ends
/// the run. Errors of
/// `quantize_alone`, the runtime and the data are handed on, with the name of the sample.
[[nodiscard]] Expected<std::vector<LayerSensitivity>> measure_sensitivity(
    const Graph& graph, std::span<const SensitivityLayer> layers, QuantizeAlone quantize_alone,
    const Runtime& runtime, const DataSet& data, const SensitivityOptions& options,
    FunctionRef<Expected<void>()> settled);

/// Reads all constants that lie in files, so that variants of the graph share them in memory. What
/// is deferred because it is computed is computed.
[[nodiscard]] Expected<void> hold_constants(Graph& graph);

}  // namespace quadrant::inline v0
