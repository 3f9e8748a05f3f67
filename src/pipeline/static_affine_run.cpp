#include "pipeline/static_affine_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "calibration/located.hpp"
#include "ir/find_quantization.hpp"
#include "pipeline/migration_run.hpp"
#include "pipeline/optimizations.hpp"
#include "pipeline/prescribed.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<void> check_float(const Graph& graph) {
  const auto found = find_quantization(graph);
  if (!found) return {};
  return fail(ErrorCode::impossible,
              fmt::format("this model is quantized already, as this {} shows: quantize the float "
                          "model that it was made of (quantizing twice adds both errors)",
                          graph.kind(*found)),
              {.node = std::string(label(graph, *found))});
}

// What a weight is computed with: a cast of one that is stored as float16, say. Codes move as they
// are, so that moves can stay.
bool computes_reals(NodeRef node) {
  const auto is_real = [](const TensorType* type) {
    return type == nullptr || is_float(type->element);
  };
  if (find_move(node) != nullptr || !is_real(&node.type())) return false;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (!is_real(node.operand_type(i))) return false;
  }
  return true;
}

// Inputs and outputs that are real values although codes are asked for.
void tell_real_borders(const Graph& graph, const StaticAffineOptions& options,
                       const std::string& path, const RunContext& context) {
  const auto tell = [&](std::string_view what, Value value) {
    const TensorType& type = graph.type(value);
    if (type.is_quantized() || is_integer(type.element)) return;
    context.warn(fmt::format("this {} of the model stays float: 'quadrant explain' says why", what),
                 {.file = path, .tensor = std::string(graph.value_name(value))});
  };
  for (const NodeId node : graph.inputs()) {
    if (options.quantized_inputs) tell("input", {node});
  }
  for (const NodeId node : graph.outputs()) {
    if (options.quantized_outputs) tell("output", graph.operands(node)[0]);
  }
}

// A run in which `choice` is the one scheme, under its own name.
QuantizeOptions alone(const QuantizeOptions& run, const Registry& registry,
                      const std::string& choice) {
  QuantizeOptions made = run;
  const auto own = run.scheme_vetoes.find(choice);
  if (own != run.scheme_vetoes.end()) made.vetoes.insert(own->second.begin(), own->second.end());
  made.scheme_vetoes.clear();
  if (registry.names() != StaticAffine().name()) made.plan = nullptr;  // it names other schemes
  return made;
}

bool has_calibration(const RunInputs& inputs) {
  return inputs.has_samples() || inputs.has_statistics();
}

// Whether one of the choices looks at more than the smallest and the largest value.
Expected<bool> needs_histograms(std::span<const SchemeChoice> choices) {
  bool needs = false;
  for (const SchemeChoice& choice : choices) {
    QUADRANT_TRY(const StaticAffineOptions options, static_affine_options(choice.options));
    needs = needs || options.activations.method != EncodingMethod::minmax;
  }
  return needs;
}

// migrate, for what the first choice makes of the graph.
Expected<void> migrate_for(SchemeSubject& subject, std::span<const SchemeChoice> choices) {
  QUADRANT_TRY(const StaticAffineOptions options, static_affine_options(choices[0].options));
  const StaticCodes codes{.weight_bits = options.weights.bits,
                          .activation_bits = options.activations.bits,
                          .one_scale = options.weight_granularity == Granularity::Kind::tensor};
  return migrate_activations(subject.graph, codes, subject.request.inputs, subject.context);
}

// What there is to say of one choice.
void add_notes(SchemeSubject& subject, const std::string& choice,
               const StaticAffineOptions& options) {
  const RunContext& context = subject.context;
  const RunInputs& inputs = subject.request.inputs;
  if (!inputs.encodings.empty() && !has_calibration(inputs)) {
    subject.steps.before.emplace_back(
        [context, options, choice, path = inputs.encodings](
            const Graph& graph, const Registry& registry, const QuantizeOptions& run) {
          return tell_unknown_ranges(graph, options, alone(run, registry, choice), path, context);
        });
  }
  if (options.quantized_inputs || options.quantized_outputs) {
    subject.steps.review.emplace_back([context, options, path = subject.request.model](
                                          const Graph&, const QuantizeResult& result) {
      tell_real_borders(result.graph, options, path, context);
    });
  }
}

void add_steps(SchemeSubject& subject, const Optimizations& wanted, Prescribed prescribed,
               MomentsTable moments) {
  const RunContext& context = subject.context;
  const RunInputs& inputs = subject.request.inputs;
  const std::string& path = subject.request.model;
  if (wanted.correct_biases() && !wanted.has("cle")) {
    context.warn(
        "bc without cle: it corrects what is shifted, not what is lost to ranges that differ from "
        "channel to channel; optimize cle,bc does both",
        {.file = path});
  }
  if (!inputs.encodings.empty()) {
    subject.steps.review.emplace_back([context, prescribed = std::move(prescribed)](
                                          const Graph& graph, const QuantizeResult& result) {
      prescribed.tell_unused(graph, result, context);
    });
  }
  if (wanted.has("bc-analytic")) {
    subject.steps.before.emplace_back(
        [context, path, moments = std::move(moments)](Graph& graph, const Registry& registry,
                                                      const QuantizeOptions& run) {
          return in_file(correct_from_moments(graph, moments, registry, run, context), path);
        });
  }
  if (wanted.has("bc")) {
    subject.steps.finish.emplace_back(
        [context, inputs, path](const Graph& graph, Graph& quantized) {
          return in_file(correct_on_samples(graph, quantized, inputs, context), path);
        });
  }
}

}  // namespace

// Values go by their names, so ranges of a model that was changed since, or exported anew, can
// serve.
void tell_other_model(const SchemeSubject& subject, const StatisticsTable& statistics) {
  const std::uint64_t saved = statistics.model_hash;
  if (saved == 0 || subject.model_hash == 0 || saved == subject.model_hash) return;
  subject.context.warn(
      "these statistics were gathered on another model, of other contents: ranges may be others",
      {.file = subject.request.inputs.calibration});
}

Expected<StatisticsTable> observe(const SchemeSubject& subject, bool histograms) {
  const RunContext& context = subject.context;
  QUADRANT_TRY(const auto data, open_samples(subject.request.inputs, subject.graph, context));
  const Interpreter interpreter({}, context.run_memory);
  return in_file(
      gather_statistics({subject.graph, interpreter, *data}, {.histograms = histograms}, context),
      subject.request.model);
}

void take_own_statistics(SchemeSubject& subject, StatisticsTable& statistics) {
  statistics.merge(subject.statistics);
  std::erase_if(subject.ungathered,
                [&](const LeftAlone& each) { return statistics.find(each.name) != nullptr; });
}

Expected<void> check_static_affine(const RunRequest& request, const SchemeChoices& choices) {
  const RunInputs& inputs = request.inputs;
  const Optimizations wanted = optimizations_of(choices.model);
  if (!inputs.encodings.empty() && !wanted.names.empty()) {
    return fail(ErrorCode::usage,
                "optimize changes the values that were encoded: leave out it or the encodings",
                {.file = inputs.encodings});
  }
  if (inputs.has_statistics() && !wanted.names.empty()) {
    return fail(ErrorCode::usage,
                "optimize changes the values that were measured: it needs samples, not statistics",
                {.file = inputs.calibration});
  }
  QUADRANT_CHECK(check(wanted));
  if (request.as_matmul_nbits) {
    return fail(ErrorCode::usage,
                "MatMulNBits has codes of weights alone: it goes with the scheme weight_only");
  }
  return check_options(choices);
}

// Ranges are found once, for all choices.
Expected<Registry> make_static_affine(SchemeSubject& subject, const SchemeChoices& chosen) {
  const RunContext& context = subject.context;
  const RunInputs& inputs = subject.request.inputs;
  const std::string& path = subject.request.model;
  const Optimizations wanted = optimizations_of(chosen.model);
  if (!has_calibration(inputs) && inputs.encodings.empty() && subject.statistics.values.empty()) {
    return fail(ErrorCode::usage,
                "static_affine finds ranges on data: it needs samples, statistics that "
                "'quadrant calibrate' saved, prescribed encodings, or 'stats' of the model's own",
                {}, Remedy::give_samples);
  }
  if (!subject.statistics.values.empty() && !wanted.names.empty()) {
    return fail(ErrorCode::usage,
                "optimize changes the values that the model has 'stats' of: leave it out",
                {.file = path});
  }
  QUADRANT_CHECK(in_file(check_float(subject.graph), path));
  Prescribed prescribed;
  if (!inputs.encodings.empty()) {
    QUADRANT_TRY(prescribed, Prescribed::read(inputs.encodings, subject.graph, context));
  }
  // Values keep their names where weights are computed and normalizations folded, so that what was
  // saved holds.
  QUADRANT_TRY(const FoldedConstants folded,
               in_file(fold_constants(subject.graph, computes_reals), path));
  StatisticsTable statistics;
  if (inputs.has_statistics()) {
    QUADRANT_TRY(statistics, read_statistics_of(subject.graph, inputs.calibration));
    tell_other_model(subject, statistics);
  }
  QUADRANT_TRY(MomentsTable moments,
               in_file(transform(subject.graph, wanted, path, context), path));
  if (wanted.has("migrate")) QUADRANT_CHECK(in_file(migrate_for(subject, chosen.choices), path));
  subject.is_transformed = true;
  subject.has_calibrated = has_calibration(inputs);
  QUADRANT_CHECK(prescribed.check_names(subject.graph));
  if (inputs.has_samples()) {
    QUADRANT_TRY(const bool histograms, needs_histograms(chosen.choices));
    QUADRANT_TRY(statistics, observe(subject, histograms || subject.request.wants_histograms));
  }
  take_own_statistics(subject, statistics);
  SchemeData data;
  data.statistics = std::make_shared<const StatisticsTable>(std::move(statistics));
  subject.observed = data.statistics;
  if (!inputs.encodings.empty()) {
    QUADRANT_TRY(data.prescribed, prescribed.table());
  }
  for (const SchemeChoice& choice : chosen.choices) {
    QUADRANT_TRY(StaticAffineOptions options, static_affine_options(choice.options));
    options.statistics = data.statistics;
    options.prescribed = data.prescribed;
    add_notes(subject, choice.name, options);
  }
  add_steps(subject, wanted, std::move(prescribed), std::move(moments));
  return chosen.make_registry(data);
}

}  // namespace quadrant::inline v0
