#include "pipeline/weight_only_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "calibration/located.hpp"
#include "pipeline/low_rank_run.hpp"
#include "pipeline/migration_run.hpp"
#include "pipeline/optimizations.hpp"
#include "pipeline/sequential_rounding.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

double decibels(double of, double error) { return 10 * std::log10(of / error); }

// Weights that became codes without: the first few, and why.
void tell_nearest(const SecondMomentsTable& moments, const Graph& graph, const Graph& quantized,
                  const std::string& path, const RunContext& context) {
  constexpr std::size_t most = 5;
  std::size_t count = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.constant(node) == nullptr || !quantized.contains(node)) continue;
    const std::string name(graph.value_name({node}));
    const bool is_new = quantized.type({node}).is_quantized() && !graph.type({node}).is_quantized();
    const bool is_meant = moments.find(name) != nullptr;  // rounded, or nearest by a choice
    if (!is_new || is_meant) continue;
    if (++count > most) continue;
    const auto left = std::ranges::find(moments.left, name, &LeftAlone::name);
    context.note(fmt::format("its codes are the nearest ones: {}",
                             left != moments.left.end()
                                 ? left->reason
                                 : "no layer's inputs tell what it is multiplied by (a lookup, an "
                                   "einsum, or a weight that is computed first)"),
                 {.file = path, .tensor = name});
  }
  if (count > most) {
    context.note(fmt::format("{} more have the nearest codes", counted(count - most, "weight")),
                 {.file = path});
  }
}

// How much less error layers have than with codes that are nearest, on the whole.
void tell(const RoundingLog& log, const std::string& path, const RunContext& context) {
  double gained = 0;
  std::size_t measured = 0;
  for (const auto& [name, each] : log.weights) {
    if (!(each.error > 0) || !(each.nearest > 0)) continue;
    gained += decibels(each.nearest, each.error);
    ++measured;
  }
  if (measured == 0) return;
  context.note(
      fmt::format("{} rounded by the layers' inputs: on these samples, each layer's results have "
                  "{:.1f} dB less error on average than with the nearest codes",
                  counted(log.weights.size(), "weight"), gained / static_cast<double>(measured)),
      {.file = path});
}

// Samples that say less than there is to know.
void tell_few(const SecondMomentsTable& moments, const std::string& path,
              const RunContext& context) {
  std::size_t few = 0;
  for (const auto& [name, each] : moments.weights) {
    const auto columns = static_cast<std::int64_t>(each.layout().columns.size());
    if (!each.layout().matrices.empty() && each.count(0) < columns) ++few;
  }
  if (few == 0) return;
  context.note(
      fmt::format("{} fewer inputs in these samples than a sum has terms: with more, codes "
                  "would hold better for other samples",
                  few == 1 ? "the layer of 1 weight has"
                           : fmt::format("the layers of {} weights have", few)),
      {.file = path});
}

// Of the worst output, in dB.
Expected<double> nearness(const Graph& graph, const Graph& quantized, const RunInputs& inputs,
                          const RunContext& context) {
  QUADRANT_TRY(const auto data, open_samples(inputs, graph, context));
  const Interpreter interpreter({}, context.run_memory);
  QUADRANT_TRY(const Comparison compared,
               compare(graph, quantized, interpreter, *data, {.executor = context.executor}));
  double worst = std::numeric_limits<double>::infinity();
  for (const ValueAgreement& each : compared.outputs) {
    worst = std::min(worst, each.agreement.sqnr_db());
  }
  return worst;
}

// bc, unless the outputs are farther from the float model's then, on the same samples: the shifts
// of layers need not add up to those of outputs.
SchemeSteps::Finish checked_correction(const SchemeSubject& subject) {
  return [inputs = subject.request.inputs, context = subject.context, path = subject.request.model](
             const Graph& graph, Graph& quantized) -> Expected<void> {
    Graph before = quantized;
    QUADRANT_CHECK(in_file(correct_on_samples(graph, quantized, inputs, context), path));
    QUADRANT_TRY(const double was, nearness(graph, before, inputs, context));
    QUADRANT_TRY(const double is, nearness(graph, quantized, inputs, context));
    if (!(is < was)) return {};
    quantized = std::move(before);
    context.warn(fmt::format("bc: biases stay as they were: on these samples, the worst output has "
                             "{:.1f} dB with them, and {:.1f} dB with corrected ones",
                             was, is),
                 {.file = path});
    return {};
  };
}

std::string_view rounding_of(const SchemeChoice& choice) {
  const auto* const word = given<std::string>(choice.options, "rounding");
  return word == nullptr ? std::string_view() : std::string_view(*word);
}

}  // namespace

void round_by(std::shared_ptr<const SecondMomentsTable> moments, SchemeSubject& subject,
              SchemeData& data) {
  data.moments = std::move(moments);
  const bool is_first = subject.rounding == nullptr;
  if (is_first) subject.rounding = std::make_shared<RoundingLog>();
  data.on_rounded = [log = subject.rounding](std::string_view weight,
                                             const RoundedWeights& rounded) {
    const std::lock_guard lock(log->mutex);
    log->weights.insert_or_assign(std::string(weight), rounded);
  };
  if (!is_first) return;
  subject.steps.review.emplace_back(
      [log = subject.rounding, moments = data.moments, context = subject.context,
       model = subject.request.model,
       is_alone = !subject.has_calibrated](const Graph& graph, const QuantizeResult& result) {
        if (is_alone) tell_nearest(*moments, graph, result.graph, model, context);
        tell(*log, model, context);
      });
  subject.weights = data;
}

Expected<void> transform_for(SchemeSubject& subject, const Optimizations& wanted) {
  if (wanted.names.empty() || std::exchange(subject.is_transformed, true)) return {};
  const std::string& path = subject.request.model;
  QUADRANT_CHECK(in_file(transform(subject.graph, wanted, path, subject.context), path));
  if (wanted.has("bc")) subject.steps.finish.push_back(checked_correction(subject));
  return {};
}

// Those that were saved.
Expected<std::shared_ptr<SecondMomentsTable>> saved_moments(const SchemeSubject& subject) {
  const std::string& file = subject.request.inputs.moments;
  QUADRANT_TRY(SavedMoments saved, read_moments(file));
  auto* const moments = std::get_if<SecondMomentsTable>(&saved);
  if (moments == nullptr) {
    return fail(ErrorCode::usage,
                "this is the grid that moments are counted on: weights are rounded by moments",
                {.file = file});
  }
  QUADRANT_CHECK(check_model(moments->model_hash, subject.model_hash, file));
  QUADRANT_CHECK(in_file(check_moments(subject.graph, *moments), file));
  tell_few(*moments, subject.request.model, subject.context);
  return std::make_shared<SecondMomentsTable>(std::move(*moments));
}

Expected<std::shared_ptr<SecondMomentsTable>> moments_of(SchemeSubject& subject) {
  const RunContext& context = subject.context;
  const std::string& path = subject.request.model;
  if (!subject.request.inputs.moments.empty()) return saved_moments(subject);
  QUADRANT_TRY(const auto samples, open_samples(subject.request.inputs, subject.graph, context));
  const Interpreter interpreter({}, context.run_memory);
  auto found =
      in_file(gather_moments({subject.graph, interpreter, *samples}, nullptr, context), path);
  if (!found) {
    const bool cannot_run = found.error().code == ErrorCode::impossible;
    if (cannot_run) found.error().message += "; with rounding nearest it is not run";
    return fail(std::move(found).error());
  }
  tell_few(*found, path, context);
  return std::make_shared<SecondMomentsTable>(*std::move(found));
}

Expected<void> check_transform_for(const RunRequest& request, const Optimizations& wanted) {
  QUADRANT_CHECK(check(wanted));
  const RunInputs& inputs = request.inputs;
  const bool changes_values = wanted.has("rotate") || wanted.has("cle") || wanted.has("hba");
  if (!inputs.moments.empty() && changes_values) {
    return fail(ErrorCode::usage,
                "optimize changes the values that were measured: it needs samples, not moments",
                {.file = inputs.moments});
  }
  return check_samples(wanted, inputs);
}

Expected<void> check_weight_only(const RunRequest& request, const SchemeChoices& choices) {
  QUADRANT_CHECK(check_transform_for(request, optimizations_of(choices.model)));
  for (const SchemeChoice& choice : choices.choices) {
    const auto* const form = given<std::string>(choice.options, "form");
    if (request.as_matmul_nbits && form != nullptr && *form == "behind") {
      return fail(ErrorCode::usage,
                  "MatMulNBits has its scales in front: it does not go with the form 'behind'");
    }
  }
  return check_options(choices);
}

namespace {

// `found`: the moments that there are, if there are some.
Expected<Registry> make_rounding(SchemeSubject& subject, const SchemeChoices& chosen,
                                 std::shared_ptr<const SecondMomentsTable>& found) {
  const RunInputs& inputs = subject.request.inputs;
  const auto choices = chosen.choices;
  const Optimizations wanted = optimizations_of(chosen.model);
  const bool migrates = !subject.is_transformed && wanted.has("migrate");
  QUADRANT_CHECK(transform_for(subject, wanted));
  const auto is_asked = [](const SchemeChoice& choice) {
    return !rounding_of(choice).empty() && rounding_of(choice) != "nearest";
  };
  const auto asked = std::ranges::find_if(choices, is_asked);
  const bool has_moments = !inputs.moments.empty();
  if (!inputs.has_samples() && !inputs.has_statistics() && !has_moments) {
    if (asked == choices.end()) return chosen.make_registry();
    return fail(ErrorCode::usage,
                fmt::format("rounding {} depends on the layers' inputs: it needs samples",
                            rounding_of(*asked)),
                {}, Remedy::give_samples);
  }
  const bool is_nearest = std::ranges::all_of(
      choices, [](const SchemeChoice& choice) { return rounding_of(choice) == "nearest"; });
  const bool looks_besides = migrates || wanted.low_rank > 0;
  if (is_nearest && has_moments && !looks_besides) {
    return fail(ErrorCode::usage, "rounding nearest uses no moments: leave them out",
                {.file = inputs.moments});
  }
  if (is_nearest && wanted.sequential) {
    return fail(ErrorCode::usage,
                "sequential rounding is by samples, which rounding nearest does not use");
  }
  if (wanted.sequential && has_moments) {
    return fail(ErrorCode::usage,
                "sequential rounding measures anew what is rounded already: it needs samples, not "
                "moments",
                {.file = inputs.moments});
  }
  if (is_nearest && !looks_besides) {
    QUADRANT_CHECK(open_samples(inputs, subject.graph, subject.context));
    return chosen.make_registry();
  }
  if (inputs.has_statistics() && !has_moments) {
    const bool is_said = std::ranges::any_of(
        choices, [](const SchemeChoice& choice) { return !rounding_of(choice).empty(); });
    if (subject.has_calibrated && !is_said) return chosen.make_registry();
    return fail(ErrorCode::usage,
                "weight_only rounds weights by samples: statistics, which are of one value at a "
                "time, are for static_affine ('quadrant list weight_only' shows the options)",
                {.file = inputs.calibration});
  }
  QUADRANT_TRY(auto moments, moments_of(subject));
  if (migrates) {
    QUADRANT_CHECK(in_file(migrate_weights(subject, *moments, choices), subject.request.model));
  }
  found = moments;
  if (is_nearest) return chosen.make_registry();
  if (wanted.sequential) {
    QUADRANT_TRY(const auto samples, open_samples(inputs, subject.graph, subject.context));
    QUADRANT_CHECK(
        in_file(round_in_sequence(subject, *samples, choices, *moments), subject.request.model));
  }
  SchemeData data;
  round_by(std::move(moments), subject, data);
  return chosen.make_registry(data);
}

}  // namespace

Expected<Registry> make_weight_only(SchemeSubject& subject, const SchemeChoices& chosen) {
  std::shared_ptr<const SecondMomentsTable> moments;
  QUADRANT_TRY(Registry made, make_rounding(subject, chosen, moments));
  if (const std::size_t rank = optimizations_of(chosen.model).low_rank; rank > 0) {
    auto& steps = subject.steps.finish;  // biases are corrected for what it leaves
    steps.insert(steps.begin(), low_rank_step(subject, rank, std::move(moments)));
  }
  return made;
}

}  // namespace quadrant::inline v0
