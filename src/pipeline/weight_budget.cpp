#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "pipeline/sample_parts.hpp"
#include "pipeline/weight_meter.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

Expected<std::vector<SchemeChoice>> weight_variants(std::string_view scheme,
                                                    const SchemeTable& schemes) {
  QUADRANT_TRY(const SchemeEntry* const entry, schemes.find(scheme));
  if (entry->variants != nullptr) return entry->variants();
  return fail(
      ErrorCode::usage,
      fmt::format("budgets choose among the ways to store a weight: {} has none", entry->name));
}

bool is_of_variants(const Plan& plan, std::span<const SchemeChoice> variants) {
  return std::ranges::equal(plan.schemes, variants, {}, &PlannedScheme::name, &SchemeChoice::name);
}

Expected<void> use_variants(PreparedRun& run, std::span<const SchemeChoice> variants) {
  QUADRANT_TRY(run.registry, make_registry(variants, run.weights, run.context.all_schemes()));
  return {};
}

Expected<void> check_budget_recipe(const Recipe& recipe, const SchemeTable& schemes) {
  if (!recipe.gain.empty()) {
    return fail(ErrorCode::usage,
                "a budget weighs bytes against errors by itself: a gain does not go with it");
  }
  if (recipe.model.contains("low_rank")) {
    return fail(ErrorCode::usage,
                "a budget counts codes, not the factors of `low_rank`: leave one of them out");
  }
  QUADRANT_TRY(const RuleSchemes used, schemes_of(recipe, schemes));
  for (const SchemeChoice& choice : used.all) {
    QUADRANT_TRY(const SchemeEntry* const entry, schemes.find(choice.scheme));
    if (entry->variants != nullptr) continue;
    return fail(ErrorCode::usage,
                fmt::format("budgets choose among the ways to store a weight: they are for "
                            "weight_only, not for {}",
                            choice.scheme));
  }
  return {};
}

namespace {

// On fewer, a choice among a dozen is one by chance.
constexpr std::size_t fewest_held_back = 2;

}  // namespace

struct WeightBudget::Parts {
  explicit Parts(std::uint64_t memory) : runtime({}, memory) {}

  // A quarter of the samples is for judging alone.
  void part(const DataSet& samples);

  Interpreter runtime;
  SerialExecutor serial;
  const DataSet* data = nullptr;
  std::unique_ptr<DataSet> fitted;
  std::unique_ptr<DataSet> held_back;
  Vetoes vetoes;
  ValueVetoes value_vetoes;
  OnnxWriteOptions format;
  std::string path;
  std::unique_ptr<WeightMeter> meter;
  std::unique_ptr<BudgetStudy> study;
};

void WeightBudget::Parts::part(const DataSet& samples) {
  data = &samples;
  std::vector<std::size_t> others = part_samples(samples.size()).held_back;
  if (others.size() < fewest_held_back) return;
  std::vector<std::size_t> most;
  std::ranges::set_difference(all_of(samples.size()), others, std::back_inserter(most));
  fitted = std::make_unique<PartOfSamples>(samples, std::move(most));
  held_back = std::make_unique<PartOfSamples>(samples, std::move(others));
}

WeightBudget::WeightBudget(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
WeightBudget::~WeightBudget() = default;
const BudgetStudy& WeightBudget::study() const noexcept { return *parts_->study; }
bool WeightBudget::has_data() const noexcept { return parts_->data != nullptr; }
std::size_t WeightBudget::held_back() const noexcept {
  return parts_->held_back != nullptr ? parts_->held_back->size() : 0;
}

Expected<std::unique_ptr<WeightBudget>> WeightBudget::make(PreparedRun& run,
                                                           const WeightBudgetOptions& options) {
  return in_file(make_in(run, options), run.model);
}

Expected<std::unique_ptr<WeightBudget>> WeightBudget::make_in(PreparedRun& run,
                                                              const WeightBudgetOptions& options) {
  QUADRANT_CHECK(run.context.check_stop());
  const RunContext& context = run.context;
  QUADRANT_CHECK(check_budget_recipe(run.recipe.recipe, context.all_schemes()));
  auto parts = std::make_unique<Parts>(context.run_memory);
  if (options.data != nullptr) {
    QUADRANT_CHECK(hold_constants(run.graph));
    parts->part(*options.data);
  }
  // Weights with NaN stay float, or are refused, before anything is measured.
  QuantizeOptions first = run.engine_options();
  first.sink = nullptr;
  QUADRANT_TRY(const QuantizeResult whole, quantize(run.graph, run.registry, first));
  run.vetoes = whole.analysis.vetoes;
  parts->vetoes = run.vetoes;
  parts->value_vetoes = run.value_vetoes;
  parts->format = options.format;
  parts->format.executor = nullptr;
  parts->format.sink = nullptr;
  parts->path = options.path.empty() ? run.model : options.path;
  Executor& executor = context.executor != nullptr ? *context.executor : parts->serial;
  MeterSubject subject{
      run.graph,   run.registry,    parts->vetoes, parts->value_vetoes, parts->format,
      parts->path, &parts->runtime, parts->data,   parts->fitted.get(), parts->held_back.get(),
      executor,    context};
  parts->meter = std::make_unique<WeightMeter>(std::move(subject));
  QuantizeOptions engine;
  engine.vetoes = run.vetoes;
  engine.value_vetoes = run.value_vetoes;
  engine.scheme_vetoes = run.rules.vetoes;
  engine.policy = selection_policy(run.recipe.recipe.policy).value_or(SelectionPolicy::optimal);
  QUADRANT_TRY(BudgetStudy study,
               BudgetStudy::make(run.graph, run.registry, *parts->meter, engine,
                                 {.measures_all = options.measures_all, .rounds = options.rounds}));
  parts->study = std::make_unique<BudgetStudy>(std::move(study));
  return std::unique_ptr<WeightBudget>(new WeightBudget(std::move(parts)));
}

Expected<BudgetDecision> decide_by_budget(const Budget& budget, const WeightBudgetOptions& options,
                                          PreparedRun& run) {
  BudgetDecision made;
  QUADRANT_TRY(made.subject, WeightBudget::make(run, options));
  QUADRANT_TRY(made.outcome, in_file(made.subject->study().meet(budget), run.model));
  return made;
}

}  // namespace quadrant::inline v0
