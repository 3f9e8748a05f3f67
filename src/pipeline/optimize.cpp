#include "quadrant/pipeline/optimize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/real_borders.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/take_instrumentation.hpp"

namespace quadrant::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::vector<std::string>> all_steps() {
  return {{}, {"cle", "hba"}, {"cle", "hba", "bc"}};
}

// Whether `a` is the better of two.
bool better_than(const OptimizeAttempt& a, const OptimizeAttempt& b) {
  const double loss_a = a.loss.value_or(0);
  const double loss_b = b.loss.value_or(0);
  return loss_a != loss_b ? loss_a < loss_b : worse_than(b.worst, a.worst);
}

// What is infinite or NaN in one of the models alone has no SQNR.
bool reaches(const OptimizeAttempt& attempt, double points, double sqnr_db) {
  if (attempt.loss) return *attempt.loss <= points;
  return attempt.worst.non_finite == 0 && attempt.worst.sqnr_db() >= sqnr_db;
}

// What keeps all in float, or is NaN in float, is no matter of effort.
bool is_hopeless(const OptimizeAttempt& attempt) { return attempt.is_float || attempt.nan != 0; }

bool is_good_enough(const OptimizeAttempt& attempt, const OptimizeOptions& options) {
  return !is_hopeless(attempt) && reaches(attempt, options.accept_points, options.accept_sqnr_db);
}

// Bias correction mends shifts, nothing else: what is poor after cle stays poor.
bool is_worth_correcting(const OptimizeAttempt& last, const OptimizeOptions& options) {
  constexpr double points = 2;
  constexpr double decibels = 6;
  return reaches(last, options.accept_points + points, options.accept_sqnr_db - decibels);
}

Expected<void> measure(const Graph& model, const std::string& path, const RunInputs& data,
                       const OptimizeOptions& wanted, const RunContext& context,
                       OptimizeAttempt& attempt) {
  QUADRANT_TRY(const auto samples, open_samples(data, model, context));
  CompareOptions options;
  options.names = {
      .first = path, .second = attempt.name(), .labels = wanted.labels_name, .objects = {}};
  options.executor = context.executor;
  options.labels = wanted.labels;
  Graph real = attempt.graph;
  make_borders_real(real);
  const Interpreter interpreter({}, context.run_memory);
  QUADRANT_TRY(const Comparison comparison, compare(model, real, interpreter, *samples, options));
  for (const ValueAgreement& output : comparison.outputs) attempt.nan += output.agreement.nan;
  const auto worst = std::ranges::min_element(
      comparison.outputs, [](const auto& a, const auto& b) { return worse_than(a, b); },
      &ValueAgreement::agreement);
  if (worst != comparison.outputs.end()) attempt.worst = worst->agreement;
  if (comparison.first && comparison.second) {
    attempt.loss = 100 * (comparison.first->top1_share() - comparison.second->top1_share());
  }
  return {};
}

// Whether the model says itself what its values are.
Expected<bool> has_statistics(Graph model) {
  QUADRANT_TRY(const Instrumentation taken, take_instrumentation(model));
  return !taken.statistics.values.empty();
}

Expected<OptimizeAttempt> attempt_with(const std::vector<std::string>& optimizations,
                                       RunRequest request, const Graph& model,
                                       const OptimizeOptions& options, const RunContext& context) {
  const Clock::time_point start = Clock::now();
  const RunInputs& inputs = request.inputs;
  const bool has_own = options.data.samples != nullptr || !options.data.calibration.empty();
  const RunInputs data = has_own ? options.data : inputs;
  const std::string path = request.model;
  OptionValues& before = request.recipe.recipe.model;
  if (optimizations.empty()) {
    before.clear();
  } else {
    before["optimize"] = optimizations;
  }
  QUADRANT_TRY(CheckedRun checked, check_run(std::move(request), context));
  QUADRANT_TRY(PreparedRun prepared, prepare(std::move(checked), model, context));
  QUADRANT_TRY(const QuantizeResult quantized, prepared.quantize());
  const Summary summary = summarize(prepared.graph, prepared.registry, quantized);
  OptimizeAttempt attempt{.optimizations = optimizations,
                          .graph = quantized.graph,
                          .weights = summary.eligible.count,
                          .quantized = summary.eligible_quantized.count,
                          .is_float = quantized.analysis.plan.values.empty()};
  QUADRANT_CHECK(measure(model, path, data, options, context, attempt));
  attempt.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return attempt;
}

}  // namespace

std::string OptimizeAttempt::name() const {
  return optimizations.empty() ? "none" : fmt::format("{}", fmt::join(optimizations, ","));
}

Expected<void> check_optimize(const RunRequest& request, const RunContext& context) {
  if (request.inputs.has_statistics()) {
    return fail(ErrorCode::usage, "optimize runs the model: it needs samples, not statistics",
                {.file = request.inputs.calibration});
  }
  if (!request.inputs.has_samples()) {
    return fail(ErrorCode::usage, "optimize runs the model: it needs samples", {},
                Remedy::give_samples);
  }
  const auto is_static = [](const SchemeChoice& choice) {
    return choice.scheme == "static_affine";
  };
  if (!std::ranges::any_of(request.recipe.recipe.schemes, is_static)) {
    return fail(ErrorCode::usage, "optimize is for static_affine, which the recipe does not name",
                {.file = request.recipe.label});
  }
  RunRequest plain = request;
  plain.recipe.recipe.model.clear();
  QUADRANT_CHECK(check_run(std::move(plain), context));
  return {};
}

Expected<Optimized> optimize(const RunRequest& request, const Graph& model,
                             const OptimizeOptions& options, const RunContext& context) {
  QUADRANT_CHECK(check_optimize(request, context));
  Optimized done;
  std::vector<OptimizeAttempt>& attempts = done.attempts;
  QUADRANT_TRY(const bool has_own, has_statistics(model));
  for (const auto& step : all_steps()) {
    if (has_own && !step.empty()) break;  // these are of values that the others would change
    const bool corrects = std::ranges::find(step, "bc") != step.end();
    if (corrects && !is_worth_correcting(attempts.back(), options)) break;
    QUADRANT_TRY(OptimizeAttempt attempt,
                 in_file(attempt_with(step, request, model, options, context), request.model));
    attempts.push_back(std::move(attempt));
    if (is_good_enough(attempts.back(), options) || is_hopeless(attempts.back())) break;
  }
  const auto best = std::ranges::find_if(attempts, [&](const OptimizeAttempt& attempt) {
    return std::ranges::none_of(
        attempts, [&](const OptimizeAttempt& other) { return better_than(other, attempt); });
  });
  done.best = static_cast<std::size_t>(best - attempts.begin());
  done.is_good_enough = is_good_enough(*best, options);
  done.is_all = has_own || attempts.size() == all_steps().size();
  return done;
}

}  // namespace quadrant::inline v0
