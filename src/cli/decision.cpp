#include "cli/decision.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/located.hpp"
#include "cli/choices.hpp"
#include "cli/hardware.hpp"
#include "cli/model.hpp"
#include "cli/resources.hpp"
#include "cli/variants.hpp"
#include "quadrant/adapters/tbb.hpp"
#include "quadrant/engine/latency_gain.hpp"
#include "quadrant/ir/aliases.hpp"
#include "quadrant/recipe/recipe_json.hpp"
#include "quadrant/transforms/take_instrumentation.hpp"

namespace quadrant::cli {
namespace {

// The recipe, with what other options say besides.
Expected<NamedRecipe> with_options(NamedRecipe meant, const DecisionOptions& options) {
  Recipe& recipe = meant.recipe;
  if (!options.gain.empty()) {
    recipe.gain = options.gain;
    // The recipe's went with its own gain.
    if (options.gain != "latency") recipe.hardware.clear();
  }
  if (!options.hardware.empty()) {
    if (recipe.gain != "latency") {
      return fail(ErrorCode::usage,
                  "--hardware says what --gain latency predicts with: it does not go without it");
    }
    recipe.hardware = options.hardware;
  }
  if (!options.policy.empty()) recipe.policy = options.policy;
  if (options.takes_variants) {
    QUADRANT_TRY(recipe.schemes, weight_variants());
  }
  for (SchemeChoice& choice : recipe.schemes) {
    if (choice.scheme != "static_affine") continue;
    if (!options.kernels.empty()) choice.options.try_emplace("kernels", options.kernels);
    if (!options.coded_borders) continue;
    choice.options["quantized_inputs"] = true;
    choice.options["quantized_outputs"] = true;
  }
  if (options.budget) recipe.target_bits = options.budget->bits;
  if (!options.non_finite.empty()) {
    recipe.non_finite =
        options.non_finite == "leave" ? NonFinitePolicy::leave_float : NonFinitePolicy::refuse;
  }
  const auto& [include, exclude] = options.scope;
  recipe.include.insert(recipe.include.end(), include.begin(), include.end());
  recipe.exclude.insert(recipe.exclude.end(), exclude.begin(), exclude.end());
  return meant;
}

Expected<NamedRecipe> meant_by(const DecisionOptions& options) {
  QUADRANT_TRY(NamedRecipe recipe, recipe_of(options.recipe, options.schemes));
  return with_options(std::move(recipe), options);
}

// What `convert --target` runs, with what the options say.
Expected<NamedRecipe> meant_for(const KernelsTarget& target, const DecisionOptions& options) {
  NamedRecipe recipe;
  recipe.label = scheme_of(target);
  recipe.recipe.gain = "operations";
  recipe.recipe.policy = "optimal";
  QUADRANT_CHECK(options.schemes.check_given(std::array{recipe.label}, {}));
  return with_options(std::move(recipe), options);
}

// Of the graph that a model becomes for `target`, what was decided on.
Expected<OnTarget> decided_for(const KernelsTarget& target, Graph graph, Executor& executor) {
  std::vector<std::string> remarks;
  if (has_simulated_quantization(graph)) QUADRANT_CHECK(convert_simulated(graph, remarks));
  if (const auto* fusion = std::get_if<FusionTarget>(&target)) {
    const SplitForFormat format{.has_limits = *fusion != FusionTarget::tflite};
    QUADRANT_TRY(graph, without_fake_quantize(std::move(graph), format, remarks));
  }
  QUADRANT_TRY(OnTarget made, compute_on(graph, target, false, executor));
  made.remarks.insert(made.remarks.begin(), remarks.begin(), remarks.end());
  return made;
}

Expected<void> check_budget(const NamedRecipe& meant) {
  if (!meant.recipe.target_bits) return {};
  return fail(ErrorCode::impossible,
              fmt::format("'target_bits' asks for {} bits a weight: that is for quantize and plan; "
                          "'quadrant explain --plan' explains what they decide",
                          *meant.recipe.target_bits),
              {.file = meant.label});
}

std::vector<SchemeChoice> of_scheme(const std::vector<SchemeChoice>& all, std::string_view scheme) {
  std::vector<SchemeChoice> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const SchemeChoice& choice) { return choice.scheme == scheme; });
  return found;
}

// Where schemes differ, what suits the one that computes on codes: it counts bytes, too.
std::string_view suitable_gain(const std::vector<SchemeChoice>& choices) {
  std::string_view gain = "bytes";
  for (const SchemeEntry& scheme : known_schemes()) {
    const bool is_used =
        std::ranges::find(choices, scheme.name, &SchemeChoice::scheme) != choices.end();
    if (is_used && scheme.gain != "bytes") gain = scheme.gain;
  }
  return gain;
}

// Of the machine that is named, if one is.
Expected<std::optional<HardwareProfile>> hardware_of(const DecisionOptions& options,
                                                     const NamedRecipe& meant, Console& console) {
  if (meant.recipe.hardware.empty()) return std::nullopt;
  auto profile = read_hardware(meant.recipe.hardware, console.files());
  if (profile) return *std::move(profile);
  Error& error = profile.error();
  if (options.hardware.empty() && error.place.file.empty()) {
    error.message = "$.hardware: " + error.message;
    error.place.file = meant.label;
  }
  return fail(std::move(error));
}

// What the machine's kernels do not need, codes do not pay for.
Recipe with_sums_of(const std::optional<HardwareProfile>& hardware, Recipe recipe) {
  if (!hardware || !hardware->sums_in_32_bits) return recipe;
  for (SchemeChoice& choice : recipe.schemes) {
    const bool is_said = choice.options.contains("saturation");
    if (choice.scheme == "static_affine" && !is_said) {
      choice.options.try_emplace("target_cpu", "vnni");
    }
  }
  return recipe;
}

Expected<std::unique_ptr<GainModel>> gains_of(std::optional<HardwareProfile> hardware,
                                              const Recipe& recipe,
                                              const std::vector<SchemeChoice>& choices) {
  if (hardware) return std::make_unique<LatencyGain>(*std::move(hardware));
  return make_gain_model(recipe.gain.empty() ? suitable_gain(choices) : recipe.gain);
}

// Which patterns are the recipe's own: they come first.
ScopeOrigin origin_of(const DecisionOptions& options, const NamedRecipe& meant) {
  return {.recipe = meant.label,
          .include = meant.recipe.include.size() - options.scope.include.size(),
          .exclude = meant.recipe.exclude.size() - options.scope.exclude.size()};
}

void tell(const std::vector<LeftAlone>& unfinished, const SchemeSubject& subject) {
  for (const LeftAlone& each : unfinished) {
    subject.console->report(
        {Severity::warning, each.reason, {.file = subject.path, .tensor = each.name}});
  }
}

// By name: a scheme may change the graph before they count.
using NamedCouplings = std::vector<std::vector<std::string>>;

// Takes the model's instrumentation off, and hands on what it says.
Expected<NamedCouplings> take_instrumentation(SchemeSubject& subject) {
  QUADRANT_TRY(Instrumentation taken, in_file(take_instrumentation(subject.graph), subject.path));
  subject.statistics = std::move(taken.statistics);
  subject.ungathered = std::move(taken.ungathered);
  tell(taken.uncoupled, subject);
  NamedCouplings couplings;
  for (const std::vector<Value>& values : taken.couplings) {
    std::vector<std::string>& names = couplings.emplace_back();
    for (const Value value : values) names.emplace_back(subject.graph.value_name(value));
  }
  return couplings;
}

Couplings couplings_in(const Graph& graph, const NamedCouplings& named) {
  Couplings couplings;
  for (const std::vector<std::string>& names : named) {
    std::vector<Value> values;
    for (const std::string& name : names) {
      const Value value = graph.find_value(name);
      if (!value.is_absent()) values.push_back(value);
    }
    if (values.size() > 1) couplings.push_back(std::move(values));
  }
  return couplings;
}

// What is saved can be read: of bits, options may say more than a recipe.
Expected<void> check_savable(const DecisionOptions& options, const Recipe& recipe) {
  if (options.save_recipe.empty()) return {};
  auto status = check(recipe);
  if (!status) status.error().message = "--save-recipe: " + status.error().message;
  return status;
}

}  // namespace

void declare_non_finite(CLI::App& command, std::string& choice) {
  add_choice(command, "--non-finite", choice, {"refuse", "leave"},
             "Weights with NaN or infinity: 'refuse' the model, or 'leave' them in float")
      ->default_str("refuse");
}

void declare_save_recipe(CLI::App& command, DecisionOptions& options) {
  command
      .add_option("--save-recipe", options.save_recipe,
                  "Write what these options mean, for --recipe: all but the model and its data")
      ->type_name("FILE");
}

void declare_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print one JSON document, for programs");
}

void declare(CLI::App& command, DecisionOptions& options) {
  options.command = &command;
  command.add_option("MODEL", options.model, "Model to read: .onnx, .tflite, .xml, or .qd, text")
      ->required()
      ->type_name("");
  declare(command, options.recipe);
  add_choice(
      command, "--gain", options.gain, {"bytes", "latency", "operations", "unit"},
      "What is worth having: 'bytes' saved, 'latency' in predicted nanoseconds, 'operations' "
      "on integers instead of floats, or 'unit', consumed operands (default: what suits the "
      "scheme)");
  command
      .add_option("--hardware", options.hardware,
                  "What --gain latency predicts with: a profile of 'quadrant list hardware', or a "
                  "file of measure_hardware.py")
      ->type_name("NAME|FILE");
  add_choice(
      command, "--policy", options.policy, {"greedy", "optimal"},
      "How to choose: 'greedy' (the default), or 'optimal', the choice that gains most, with "
      "a bound on what any could gain");
  declare(command, options.scope);
  declare_json(command, options.json);
  declare_threads(command, options.threads);
  options.schemes.declare(command);
}

Expected<Analysis> Subject::decide(const Plan* plan) {
  QuantizeOptions options = engine_options();
  options.plan = plan;
  TbbExecutor executor(threads);
  options.executor = &executor;
  QUADRANT_CHECK(run_before(steps, graph, registry, options));
  const bool reads_weights = options.non_finite == NonFinitePolicy::leave_float && plan == nullptr;
  if (!reads_weights) return analyze(graph, registry, options);
  QUADRANT_TRY(QuantizeResult result, quantize(graph, registry, options));
  return std::move(result.analysis);
}

QuantizeOptions Subject::engine_options() const {
  QuantizeOptions options;
  options.gains = gains.get();
  options.vetoes = scope.vetoes;
  options.value_vetoes = scope.value_vetoes;
  options.scheme_vetoes = rules.vetoes;
  options.policy = selection_policy(recipe.recipe.policy).value_or(SelectionPolicy::greedy);
  options.non_finite = recipe.recipe.non_finite;
  options.couplings = couplings;
  return options;
}

Expected<Subject> prepare(const DecisionOptions& options, Console& console) {
  QUADRANT_TRY(NamedRecipe meant, meant_by(options));
  QUADRANT_TRY(auto hardware, hardware_of(options, meant, console));
  const Recipe recipe = with_sums_of(hardware, meant.recipe);
  if (!options.meets_budgets) QUADRANT_CHECK(check_budget(meant));
  QUADRANT_TRY(const RuleSchemes schemes, schemes_of(recipe));
  for (const auto& scheme : options.schemes.all()) {
    const std::vector<SchemeChoice> choices = of_scheme(schemes.all, scheme->name());
    if (choices.empty()) continue;
    for (const SchemeChoice& choice : choices) {
      QUADRANT_CHECK(scheme->check_format(options.format, choice.options));
    }
    QUADRANT_CHECK(scheme->check(choices, recipe.model));
  }
  const ScopeOptions patterns{recipe.include, recipe.exclude};
  QUADRANT_CHECK(check_patterns(patterns));
  QUADRANT_CHECK(check_savable(options, recipe));
  QUADRANT_TRY(auto gains, gains_of(std::move(hardware), recipe, schemes.all));
  QUADRANT_TRY(Graph graph, read_model(options.model, console));
  if (options.resolves_aliases) QUADRANT_CHECK(in_file(resolve_aliases(graph), options.model));
  TbbExecutor executor(options.threads);
  SchemeSubject subject{options.model, std::move(graph), &executor, &console};
  QUADRANT_TRY(const NamedCouplings named, take_instrumentation(subject));
  std::vector<Registry> registries;
  for (const auto& scheme : options.schemes.all()) {
    const std::vector<SchemeChoice> choices = of_scheme(schemes.all, scheme->name());
    if (choices.empty()) continue;
    QUADRANT_TRY(Registry registry, scheme->make(subject, choices, recipe.model));
    registries.push_back(std::move(registry));
  }
  QUADRANT_TRY(Registry registry, Registry::join(registries));
  QUADRANT_TRY(RuleDecisions rules, apply_rules(subject.graph, recipe, meant.label));
  QUADRANT_TRY(Scope scope,
               find_scope(subject.graph, registry, patterns, origin_of(options, meant)));
  scope.value_vetoes.merge(rules.value_vetoes);
  tell(subject.ungathered, subject);
  Couplings couplings = couplings_in(subject.graph, named);
  Subject made{.graph = std::move(subject.graph),
               .registry = std::move(registry),
               .gains = std::move(gains),
               .scope = std::move(scope),
               .steps = std::move(subject.steps),
               .weights = std::move(subject.weights),
               .rounding = std::move(subject.rounding),
               .recipe = std::move(meant),
               .rules = std::move(rules),
               .couplings = std::move(couplings),
               .threads = options.threads};
  return made;
}

Expected<Subject> prepare_for(const KernelsTarget& target, const DecisionOptions& options,
                              Console& console) {
  QUADRANT_TRY(NamedRecipe meant, meant_for(target, options));
  const ScopeOptions patterns{meant.recipe.include, meant.recipe.exclude};
  QUADRANT_CHECK(check_patterns(patterns));
  QUADRANT_TRY(auto hardware, hardware_of(options, meant, console));
  QUADRANT_TRY(auto gains, gains_of(std::move(hardware), meant.recipe, {}));
  QUADRANT_TRY(Graph graph, read_model(options.model, console));
  TbbExecutor executor(options.threads);
  QUADRANT_TRY(OnTarget made,
               in_file(decided_for(target, std::move(graph), executor), options.model));
  for (const std::string& remark : made.remarks) {
    console.report({Severity::note, remark, {.file = options.model}});
  }
  const Registry& registry = made.analysis.registry;
  QUADRANT_TRY(Scope scope, find_scope(made.model, registry, patterns, origin_of(options, meant)));
  scope.vetoes.merge(made.analysis.vetoes);
  return Subject{.graph = std::move(made.model),
                 .registry = registry,
                 .gains = std::move(gains),
                 .scope = std::move(scope),
                 .steps = {},
                 .weights = {},
                 .rounding = {},
                 .recipe = std::move(meant),
                 .rules = {},
                 .couplings = {},
                 .threads = options.threads};
}

Expected<void> save_recipe(const DecisionOptions& options, const Subject& subject,
                           Console& console) {
  if (options.save_recipe.empty()) return {};
  return console.write_text(options.save_recipe, print_recipe(subject.recipe.recipe));
}

}  // namespace quadrant::cli
