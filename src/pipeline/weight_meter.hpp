// What plans that store weights come to: bytes of the file, errors of weights and outputs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/engine/budgets/budget.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// What a PlanMeter measures with. Refers to all of it.
struct MeterSubject {
  const Graph& graph;  ///< its constants in memory, where there are samples
  const Registry& registry;
  const Vetoes& vetoes;
  const ValueVetoes& value_vetoes;
  const OnnxWriteOptions& format;
  const std::string& path;  ///< where the model would be written
  const Runtime* runtime = nullptr;
  const DataSet* data = nullptr;       ///< all samples; null: no outputs
  const DataSet* fitted = nullptr;     ///< of these; null: all
  const DataSet* held_back = nullptr;  ///< the others; null: none
  Executor& executor;
  RunContext context{};
};

/// Follows plans by the engine and counts what would be written. Keeps the codes of each weight in
/// each form, once they are known: outputs are then measured with the floats that these stand for,
/// which is what a runtime computes with. Memory: the codes, about two thirds of the weights for
/// ten forms.
class WeightMeter final : public PlanMeter {
 public:
  explicit WeightMeter(MeterSubject subject) : subject_(std::move(subject)) {}

  [[nodiscard]] bool has_data() const override { return subject_.data != nullptr; }
  [[nodiscard]] bool holds_back() const override { return subject_.held_back != nullptr; }
  [[nodiscard]] Expected<std::vector<PlanFigures>> measure(std::span<const Plan> plans,
                                                           const MeterScope& scope) override;

 private:
  // A stored weight in one form.
  struct Weight {
    NodeId node;
    Constant codes;
    Quantization type;
    double error = 0;  // noise / signal
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // value, scheme, constraint

  struct Stored {
    NodeId weight{};
    Value codes{};
  };
  [[nodiscard]] Stored stored(std::string_view name, const Graph& quantized) const;
  [[nodiscard]] Expected<QuantizeResult> follow(const Plan& plan) const;
  [[nodiscard]] Expected<void> learn(const Plan& plan, const QuantizeResult& result);
  [[nodiscard]] bool knows(const Plan& plan) const;
  [[nodiscard]] const Weight* find(const PlannedValue& planned) const;
  [[nodiscard]] Expected<Graph> model_of(const Plan& plan) const;
  [[nodiscard]] const DataSet* data_of(MeterSamples part) const;
  [[nodiscard]] Expected<void> measure_outputs(std::span<const Plan> plans, const DataSet& data,
                                               std::vector<PlanFigures>& figures);
  void warn_of_silence(const LayerSensitivity& measured);

  MeterSubject subject_;
  bool has_warned_ = false;
  mutable std::mutex mutex_;
  std::map<Key, std::optional<Weight>> weights_;  // empty: a value that holds no codes of its own
};

}  // namespace quadrant::inline v0
