#include "pipeline/weight_meter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "numerics/moved_weight.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/statistics.hpp"

namespace quadrant::inline v0 {
namespace {

double relative_noise(const Agreement& agreement) {
  if (agreement.non_finite != 0) return std::numeric_limits<double>::infinity();
  if (agreement.noise == 0) return 0;
  return agreement.noise / agreement.signal;  // infinite where there is noise alone
}

// Of the floats among the outputs the one that agrees least: indices, say, follow from others.
double worst_noise(const Graph& graph, const LayerSensitivity& measured) {
  const std::vector<Value> outputs = output_values(graph);
  const bool has_floats = std::ranges::any_of(
      outputs, [&](Value value) { return is_float(graph.type(value).expressed().element); });
  double worst = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (has_floats && !is_float(graph.type(outputs[i]).expressed().element)) continue;
    worst = std::max(worst, relative_noise(measured.outputs[i].agreement));
  }
  return worst;
}

}  // namespace

Expected<QuantizeResult> WeightMeter::follow(const Plan& plan) const {
  QuantizeOptions options;
  options.vetoes = subject_.vetoes;
  options.value_vetoes = subject_.value_vetoes;
  options.plan = &plan;
  return quantize(subject_.graph, subject_.registry, options);
}

const WeightMeter::Weight* WeightMeter::find(const PlannedValue& planned) const {
  const auto found = weights_.find(Key(planned.value, planned.scheme, planned.constraint));
  if (found == weights_.end()) return nullptr;
  const std::optional<Weight>& weight = found->second;
  return weight ? &*weight : nullptr;
}

bool WeightMeter::knows(const Plan& plan) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(plan.values, [&](const PlannedValue& planned) {
    return weights_.contains(Key(planned.value, planned.scheme, planned.constraint));
  });
}

// The weight whose elements are stored as the value `name`, and where its codes
// are; of what is not stored, nothing.
WeightMeter::Stored WeightMeter::stored(std::string_view name, const Graph& quantized) const {
  const Graph& graph = subject_.graph;
  const auto is_codes = [&](Value value) {
    return !value.is_absent() && quantized.constant(value.node) != nullptr &&
           quantized.type(value).is_quantized();
  };
  Value value = graph.find_value(name);
  if (value.is_absent()) return {};
  Value codes = value;
  if (graph.constant(value.node) == nullptr) {
    // A move that stores a weight of its own; its codes stand behind the name.
    codes = quantized.find_value(name);
    if (!codes.is_absent() && quantized.kind(codes.node) == ops::Dequantize::kind) {
      codes = quantized.operands(codes.node)[0];
    }
    value = moved_from(graph.ref(value.node)).result();
  }
  if (!is_codes(codes) || value.is_absent()) return {};
  const Constant* real = graph.constant(value.node);
  const Constant* held = quantized.constant(codes.node);
  if (real == nullptr || real->element_count() != held->element_count()) return {};
  return {value.node, codes};
}

// Keeps what the rewritten graph stores.
Expected<void> WeightMeter::learn(const Plan& plan, const QuantizeResult& result) {
  for (const PlannedValue& planned : plan.values) {
    Key key(planned.value, planned.scheme, planned.constraint);
    {
      const std::lock_guard lock(mutex_);
      if (weights_.contains(key)) continue;
    }
    const auto [real, codes] = stored(planned.value, result.graph);
    std::optional<Weight> weight;
    if (codes.node.is_valid()) {
      const Constant& deferred = *result.graph.constant(codes.node);
      QUADRANT_TRY(const ConstantBytes bytes, deferred.read());
      weight = Weight{real,
                      Constant::from_bytes(deferred.element(), deferred.shape(),
                                           {bytes.bytes().begin(), bytes.bytes().end()}),
                      result.graph.type(codes).quantization, 0};
      QUADRANT_TRY(const Tensor held, Tensor::from_constant(weight->codes));
      QUADRANT_TRY(const Tensor floats, dequantize_tensor(held, weight->type));
      const NodeRef stored_as = subject_.graph.ref(subject_.graph.find_value(planned.value).node);
      QUADRANT_TRY(const Constant moved, moved_weight(stored_as, *subject_.graph.constant(real)));
      QUADRANT_TRY(const std::vector<double> signal, read_reals(moved));
      QUADRANT_TRY(const std::vector<double> approximation, read_reals(floats.to_constant()));
      Agreement agreement;
      agreement.add(signal, approximation);
      weight->error = relative_noise(agreement);
    }
    const std::lock_guard lock(mutex_);
    weights_.emplace(std::move(key), std::move(weight));
  }
  return {};
}

// The model with the floats that the codes stand for; where that cannot be said here, the quantized
// model.
Expected<Graph> WeightMeter::model_of(const Plan& plan) const {
  Graph graph = subject_.graph;
  for (const PlannedValue& planned : plan.values) {
    const Value value = graph.find_value(planned.value);
    const Constant* real = graph.constant(value.node);
    if (real == nullptr) {
      // What is made of a weight by moving its elements is made of the new floats.
      const auto operands = graph.operands(value.node);
      const bool follows = std::ranges::any_of(operands, [&](Value operand) {
        return !operand.is_absent() && std::ranges::find(plan.values, graph.value_name(operand),
                                                         &PlannedValue::value) != plan.values.end();
      });
      if (follows) continue;
    }
    const Weight* weight = real != nullptr ? find(planned) : nullptr;
    if (weight == nullptr || !is_wide_float(real->element())) {
      QUADRANT_TRY(QuantizeResult result, follow(plan));
      return std::move(result.graph);
    }
    QUADRANT_TRY(const Tensor codes, Tensor::from_constant(weight->codes));
    QUADRANT_TRY(const Tensor floats, dequantize_tensor(codes, weight->type));
    const Shape shape = real->shape();
    Constant made = floats.to_constant();
    if (real->element() != made.element()) {
      QUADRANT_TRY(const std::vector<double> values, read_reals(made));
      made = rounded_constant(real->element(), made.shape(), values);
    }
    graph.set_constant(weight->node, made.reshaped(shape));
  }
  return graph;
}

Expected<std::vector<PlanFigures>> WeightMeter::measure(std::span<const Plan> plans,
                                                        const MeterScope& scope) {
  QUADRANT_CHECK(subject_.context.check_stop());
  std::vector<PlanFigures> figures(plans.size());
  std::vector<Expected<void>> status(plans.size());
  subject_.executor.parallel_for(plans.size(), [&](std::size_t i) {
    status[i] = [&]() -> Expected<void> {
      if (!scope.file && knows(plans[i])) return {};
      QUADRANT_TRY(const QuantizeResult result, follow(plans[i]));
      if (scope.file) {
        QUADRANT_TRY(const OnnxWriteReport report,
                     count_onnx(result.graph, subject_.path, subject_.format));
        figures[i].file_bytes = report.model_bytes + report.external_bytes;
        figures[i].tensor_bytes = report.tensor_bytes;
      }
      return learn(plans[i], result);
    }();
  });
  for (auto& one : status) QUADRANT_CHECK(std::move(one));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (const PlannedValue& planned : plans[i].values) {
      const Weight* weight = find(planned);
      if (weight == nullptr) continue;
      figures[i].weight_error += weight->error;
      figures[i].worst_weight = std::max(figures[i].worst_weight, weight->error);
    }
  }
  const DataSet* data = data_of(scope.part);
  if (scope.outputs && data != nullptr) QUADRANT_CHECK(measure_outputs(plans, *data, figures));
  return figures;
}

const DataSet* WeightMeter::data_of(MeterSamples part) const {
  if (subject_.held_back == nullptr || part == MeterSamples::all) return subject_.data;
  return part == MeterSamples::fitted ? subject_.fitted : subject_.held_back;
}

Expected<void> WeightMeter::measure_outputs(std::span<const Plan> plans, const DataSet& data,
                                            std::vector<PlanFigures>& figures) {
  const std::vector<SensitivityLayer> layers(plans.size());
  QUADRANT_TRY(const std::vector<LayerSensitivity> measured,
               measure_sensitivity(
                   subject_.graph, layers, [&](std::size_t i) { return model_of(plans[i]); },
                   *subject_.runtime, data,
                   {.executor = &subject_.executor,
                    .sink = subject_.context.sink,
                    .ranks = subject_.context.ranks},
                   [this] { return subject_.context.check_stop(); }));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    figures[i].output_error = worst_noise(subject_.graph, measured[i]);
  }
  if (!plans.empty() && subject_.context.sink != nullptr) warn_of_silence(measured.front());
  return {};
}

// Where the float model gives nothing but zeros and NaN, everything agrees with it.
void WeightMeter::warn_of_silence(const LayerSensitivity& measured) {
  const bool is_silent = std::ranges::all_of(
      measured.outputs, [](const auto& output) { return output.agreement.signal == 0; });
  if (!is_silent || std::exchange(has_warned_, true)) return;
  subject_.context.warn(
      "on these samples the outputs in float are zero, or no numbers: errors there say nothing");
}

}  // namespace quadrant::inline v0
