#include "quadrant/pipeline/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "engine/dealt_nodes.hpp"
#include "pipeline/effort.hpp"
#include "pipeline/migration_run.hpp"
#include "pipeline/name_scope.hpp"
#include "pipeline/optimizations.hpp"
#include "pipeline/rounding_log.hpp"
#include "pipeline/scheme_run.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "targets/kernels/litert.hpp"

namespace quadrant::inline v0 {
namespace {

std::vector<SchemeChoice> of_scheme(const std::vector<SchemeChoice>& all, std::string_view scheme) {
  std::vector<SchemeChoice> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const SchemeChoice& choice) { return choice.scheme == scheme; });
  return found;
}

// Of the machine that is named, if one is.
Expected<std::optional<HardwareProfile>> hardware_of(const RunRequest& request,
                                                     const RunContext& context) {
  const std::string& name = request.recipe.recipe.hardware;
  if (name.empty()) return std::nullopt;
  auto profile = read_hardware(name, context);
  if (profile) return *std::move(profile);
  Error& error = profile.error();
  if (error.place.file.empty() && !request.owns_hardware) {
    error.message = "$.hardware: " + error.message;
    error.place.file = request.recipe.label;
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

// Where schemes differ, what suits the one that computes on codes: it counts bytes, too.
std::string_view suitable_gain(const std::vector<SchemeChoice>& choices,
                               const SchemeTable& schemes) {
  std::string_view gain = "bytes";
  for (const SchemeEntry& scheme : schemes) {
    const bool is_used =
        std::ranges::find(choices, scheme.name, &SchemeChoice::scheme) != choices.end();
    if (is_used && scheme.gain != "bytes") gain = scheme.gain;
  }
  return gain;
}

std::unique_ptr<GainModel> gains_of(std::optional<HardwareProfile> hardware, const Recipe& recipe,
                                    const std::vector<SchemeChoice>& choices,
                                    const SchemeTable& schemes) {
  if (hardware) return std::make_unique<LatencyGain>(*std::move(hardware));
  return make_gain_model(recipe.gain.empty() ? suitable_gain(choices, schemes) : recipe.gain);
}

void tell(const std::vector<LeftAlone>& unfinished, const SchemeSubject& subject) {
  for (const LeftAlone& each : unfinished) {
    subject.context.warn(each.reason, {.file = subject.request.model, .tensor = each.name});
  }
}

// By name: a scheme may change the graph before they count.
using NamedCouplings = std::vector<std::vector<std::string>>;

// Takes the model's instrumentation off, and hands on what it says.
Expected<NamedCouplings> take_instrumentation(SchemeSubject& subject) {
  QUADRANT_TRY(Instrumentation taken,
               in_file(take_instrumentation(subject.graph), subject.request.model));
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

Expected<void> check_recipe(const NamedRecipe& named, const RunContext& context) {
  Recipe recipe = named.recipe;
  recipe.target_bits.reset();  // of which callers may ask for more than files
  return in_file(check(recipe, context.all_schemes()), named.label);
}

// What the name of a type of integers in blocks means for TFLite, whose DEQUANTIZE has none of
// these: a scale for each channel. Empty for other types, and for those that are no names.
std::string type_of_channels(std::string_view type) {
  const auto named = named_formats();
  const auto found = std::ranges::find(named, type, &NamedFormat::name);
  if (found == named.end()) return {};
  const auto format = parse_number_format(found->text);
  if (!format || !is_uniform(*format) ||
      innermost_groups(*format).kind != Granularity::Kind::block) {
    return {};
  }
  return fmt::format("{} * f32[channel] : f32", found->text.substr(0, found->text.find(" * ")));
}

void use_channels(OptionValues& options, const RunContext& context) {
  const auto* const type = given<std::string>(options, "type");
  if (type == nullptr || options.contains("block_size")) return;
  std::string channels = type_of_channels(*type);
  if (channels.empty()) return;
  context.note(
      fmt::format("TFLite has no DEQUANTIZE of blocks of {}, which would be float there: "
                  "weights get a scale for each channel, '{}'",
                  *type, channels));
  options["type"] = std::move(channels);
}

// What LiteRT's kernels for blocks take of what the options leave open: scales that are float16 and
// above zero. `whole`: the options with those that they are added to.
void use_blocks(OptionValues& options, const OptionValues& whole, const RunContext& context) {
  constexpr std::string_view taken = "i4 * f16[block=32] : f32";
  const auto* const size = given<std::int64_t>(whole, "block_size");
  const auto* const granularity = given<std::string>(whole, "granularity");
  const bool has_blocks = size != nullptr || (granularity != nullptr && *granularity == "block");
  const std::int64_t block = size != nullptr ? *size : WeightOnlyOptions{}.block_size;
  if (!has_blocks || block % target_kernels::litert::dense_blocks.step != 0) return;
  const auto* const type = given<std::string>(whole, "type");
  const auto* const bits = given<std::int64_t>(whole, "bits");
  const bool is_named = type != nullptr && *type == "int4";
  const bool has_bits = type == nullptr && bits != nullptr && *bits == 4;
  const auto* const symmetry = given<std::string>(whole, "symmetry");
  const bool is_symmetric = symmetry == nullptr || *symmetry == "symmetric";
  if (whole.contains("scales") || (!is_named && !(has_bits && is_symmetric))) return;
  if (is_named) {
    options["type"] = std::string(taken);
  } else {
    options["scales"] = std::string("float16");
  }
  context.note(
      "LiteRT multiplies by blocks of 4 bits whose scales are float16 and above zero: weights get "
      "such scales");
}

// Rules that ask for other weights of the scheme did not mean to have its new scales.
void keep_scales(std::span<RecipeRule> rules, std::string_view scheme) {
  for (RecipeRule& rule : rules) {
    const bool is_of_it = rule.schemes.size() == 1 && rule.schemes[0] == scheme;
    if (is_of_it && !rule.options.empty())
      rule.options.try_emplace("scales", std::string("float32"));
  }
}

// Has the weight_only of the recipe, and what rules make of it, make what LiteRT has kernels for.
void aim_weights(Recipe& recipe, const RunContext& context) {
  for (RecipeRule& rule : recipe.rules) {
    if (rule.options.empty() || rule.schemes.size() != 1) continue;
    const auto base = std::ranges::find(recipe.schemes, rule.schemes[0], &SchemeChoice::name);
    const bool is_named = base != recipe.schemes.end();
    if ((is_named ? base->scheme : rule.schemes[0]) != "weight_only") continue;
    OptionValues whole = rule.options;
    if (is_named) whole.insert(base->options.begin(), base->options.end());
    // With blocks that are asked for, the name means what it says.
    if (whole.contains("block_size") && whole.contains("type"))
      rule.options["type"] = whole["type"];
    if (!whole.contains("block_size")) use_channels(rule.options, context);
    use_blocks(rule.options, whole, context);
  }
  for (SchemeChoice& choice : recipe.schemes) {
    if (choice.scheme != "weight_only") continue;
    use_channels(choice.options, context);
    const bool had_scales = choice.options.contains("scales");
    use_blocks(choice.options, choice.options, context);
    if (!had_scales && choice.options.contains("scales")) keep_scales(recipe.rules, choice.name);
  }
}

// That each is looked at by one of the schemes.
Expected<void> check_looked_at(const RunInputs& inputs, std::span<const SchemeEntry* const> used,
                               const Recipe& recipe) {
  const bool finds_ranges = std::ranges::any_of(used, &SchemeEntry::needs_data);
  const bool takes_moments = std::ranges::any_of(used, &SchemeEntry::takes_moments);
  const bool corrects = optimizations_of(recipe.model).has("bc");
  if (inputs.has_samples() && !finds_ranges && !takes_moments && !corrects) {
    return fail(ErrorCode::usage, "no scheme of this run uses samples: leave them out",
                {.file = inputs.calibration});
  }
  if (inputs.has_statistics() && !finds_ranges) {
    return fail(
        ErrorCode::usage,
        "statistics are of one value at a time: no scheme of this run finds ranges on them, "
        "and what rounds weights needs samples",
        {.file = inputs.calibration});
  }
  if (!inputs.moments.empty() && !takes_moments) {
    return fail(ErrorCode::usage, "no scheme of this run rounds weights by moments: leave them out",
                {.file = inputs.moments});
  }
  const auto is_static = [](const SchemeEntry* entry) { return entry->name == "static_affine"; };
  if (!inputs.encodings.empty() && std::ranges::none_of(used, is_static)) {
    return fail(ErrorCode::usage, "encodings are for static_affine, which the recipe does not name",
                {.file = inputs.encodings});
  }
  return {};
}

// What codes are made for, where the recipe does not say it.
void aim(Recipe& recipe, const Destination& destination, const RunContext& context) {
  const auto& target = destination.target;
  std::string kernels;
  if (target == KernelsTarget::tflite || target == KernelsTarget::webnn) {
    kernels = "tflite";
  }
  if (is_openvino(target) || (!target && destination.format == ModelFormat::openvino)) {
    kernels = "openvino";
  }
  if (destination.format == ModelFormat::tflite) aim_weights(recipe, context);
  for (SchemeChoice& choice : recipe.schemes) {
    if (choice.scheme != "static_affine") continue;
    if (!kernels.empty()) choice.options.try_emplace("kernels", kernels);
    if (!destination.coded_borders) continue;
    choice.options["quantized_inputs"] = true;
    choice.options["quantized_outputs"] = true;
  }
}

}  // namespace

Expected<CheckedRun> check_run(RunRequest request, const RunContext& context) {
  CheckedRun checked;
  aim(request.recipe.recipe, request.destination, context);
  QUADRANT_TRY(checked.hardware, hardware_of(request, context));
  QUADRANT_TRY(checked.recipe,
               with_effort(with_sums_of(checked.hardware, request.recipe.recipe), request.inputs));
  QUADRANT_TRY(checked.schemes, schemes_of(checked.recipe, context.all_schemes()));
  if (checked.schemes.all.empty()) {
    return fail(ErrorCode::usage, "it has no scheme: nothing would be quantized",
                {.file = request.recipe.label});
  }
  std::vector<const SchemeEntry*> used;
  for (const SchemeEntry& scheme : context.all_schemes()) {
    const std::vector<SchemeChoice> choices = of_scheme(checked.schemes.all, scheme.name);
    if (choices.empty()) continue;
    used.push_back(&scheme);
    QUADRANT_CHECK(scheme_run_of(scheme.name)
                       .check(request, {choices, checked.recipe.model, context.all_schemes()}));
  }
  QUADRANT_CHECK(check_model_options(checked.recipe.model, used));
  QUADRANT_CHECK(check_looked_at(request.inputs, used, checked.recipe));
  QUADRANT_CHECK(check_patterns({checked.recipe.include, checked.recipe.exclude}));
  QUADRANT_CHECK(check_recipe(request.recipe, context));
  checked.request = std::move(request);
  return checked;
}

namespace {

std::uint64_t bytes_of_file(const std::string& path, const Graph& model) {
  return path.empty() ? 0 : model_bytes(path, model);
}

}  // namespace

Expected<PreparedRun> prepare(CheckedRun checked, Graph model, const RunContext& context) {
  QUADRANT_CHECK(context.check_stop());
  const Recipe& recipe = checked.recipe;
  std::uint64_t hash = 0;
  if (checked.request.inputs.are_of_a_model()) {
    QUADRANT_TRY(hash, in_file(model_hash(model, context.executor), checked.request.model));
  }
  QUADRANT_CHECK(
      in_file(resolve_for(model, checked.request.destination.format), checked.request.model));
  const std::uint64_t file_bytes = bytes_of_file(checked.request.model, model);
  SchemeSubject subject{checked.request, context, std::move(model), hash};
  QUADRANT_TRY(const NamedCouplings named, take_instrumentation(subject));
  std::vector<Registry> registries;
  for (const SchemeChoice& choice : checked.schemes.all) {  // the context may be another one by now
    QUADRANT_CHECK(context.all_schemes().find(choice.scheme));
  }
  for (const SchemeEntry& scheme : context.all_schemes()) {
    const std::vector<SchemeChoice> choices = of_scheme(checked.schemes.all, scheme.name);
    if (choices.empty()) continue;
    QUADRANT_TRY(
        Registry registry,
        scheme_run_of(scheme.name).make(subject, {choices, recipe.model, context.all_schemes()}));
    registries.push_back(std::move(registry));
  }
  QUADRANT_TRY(Registry registry, Registry::join(registries));
  QUADRANT_TRY(RuleDecisions rules, apply_rules(subject.graph, recipe, checked.request.recipe.label,
                                                context.all_schemes()));
  QUADRANT_TRY(Scope scope, find_scope(subject.graph, registry, {recipe.include, recipe.exclude},
                                       origin_of(checked.request)));
  scope.value_vetoes.merge(rules.value_vetoes);
  tell(subject.ungathered, subject);
  Couplings couplings = couplings_in(subject.graph, named);
  auto gains =
      gains_of(std::move(checked.hardware), recipe, checked.schemes.all, context.all_schemes());
  return PreparedRun{.context = context,
                     .model = checked.request.model,
                     .file_bytes = file_bytes,
                     .graph = std::move(subject.graph),
                     .registry = std::move(registry),
                     .gains = std::move(gains),
                     .vetoes = std::move(scope.vetoes),
                     .value_vetoes = std::move(scope.value_vetoes),
                     .rules = std::move(rules),
                     .couplings = std::move(couplings),
                     .recipe = std::move(checked.request.recipe),
                     .steps = std::move(subject.steps),
                     .weights = std::move(subject.weights),
                     .statistics = std::move(subject.observed),
                     .rounding = std::move(subject.rounding),
                     .low_rank = std::move(subject.low_rank)};
}

namespace {

// Of the graph that a model becomes for `target`, what was decided on.
Expected<OnTarget> decided_for(KernelsTarget target, Graph graph, Executor* executor) {
  std::vector<std::string> remarks;
  if (has_simulated_quantization(graph)) QUADRANT_CHECK(convert_simulated(graph, remarks));
  if (!is_openvino(target)) {
    const SplitForFormat format{.has_limits = target != KernelsTarget::tflite};
    QUADRANT_TRY(graph, without_fake_quantize(std::move(graph), format, remarks));
  }
  QUADRANT_TRY(OnTarget made, compute_on(graph, target, false, executor));
  made.remarks.insert(made.remarks.begin(), remarks.begin(), remarks.end());
  return made;
}

}  // namespace

Expected<PreparedRun> prepare_for_target(KernelsTarget target, RunRequest request, Graph model,
                                         const RunContext& context) {
  Recipe& recipe = request.recipe.recipe;
  if (recipe.gain.empty()) recipe.gain = "operations";
  if (recipe.policy.empty()) recipe.policy = "optimal";
  const ScopeOptions patterns{recipe.include, recipe.exclude};
  QUADRANT_CHECK(check_patterns(patterns));
  QUADRANT_TRY(auto hardware, hardware_of(request, context));
  QUADRANT_CHECK(check_recipe(request.recipe, context));
  QUADRANT_CHECK(context.check_stop());
  const std::uint64_t file_bytes = bytes_of_file(request.model, model);
  QUADRANT_TRY(OnTarget made,
               in_file(decided_for(target, std::move(model), context.executor), request.model));
  for (const std::string& remark : made.remarks) context.note(remark, {.file = request.model});
  const Registry& registry = made.analysis.registry;
  QUADRANT_TRY(Scope scope, find_scope(made.model, registry, patterns, origin_of(request)));
  scope.vetoes.merge(made.analysis.vetoes);
  return PreparedRun{.context = context,
                     .model = request.model,
                     .file_bytes = file_bytes,
                     .graph = std::move(made.model),
                     .registry = registry,
                     .gains = gains_of(std::move(hardware), recipe, {}, context.all_schemes()),
                     .vetoes = std::move(scope.vetoes),
                     .value_vetoes = std::move(scope.value_vetoes),
                     .rules = {},
                     .couplings = {},
                     .recipe = std::move(request.recipe),
                     .steps = {},
                     .weights = {},
                     .statistics = {},
                     .rounding = {},
                     .low_rank = {}};
}

QuantizeOptions PreparedRun::engine_options() const {
  QuantizeOptions options;
  options.gains = gains.get();
  options.vetoes = vetoes;
  options.value_vetoes = value_vetoes;
  options.scheme_vetoes = rules.vetoes;
  options.policy = selection_policy(recipe.recipe.policy).value_or(SelectionPolicy::greedy);
  options.non_finite = recipe.recipe.non_finite;
  options.couplings = couplings;
  options.executor = context.executor;
  options.sink = context.sink;
  return options;
}

Expected<void> PreparedRun::begin(const QuantizeOptions& options) {
  if (std::exchange(has_begun, true)) return {};
  for (const auto& step : steps.before) QUADRANT_CHECK(step(graph, registry, options));
  return {};
}

Expected<Analysis> PreparedRun::decide(const Plan* plan) {
  QuantizeOptions options = engine_options();
  options.plan = plan;
  options.sink = nullptr;  // nothing is rewritten that there would be something to say of
  QUADRANT_CHECK(context.check_stop());
  QUADRANT_CHECK(begin(options));
  const bool reads_weights = options.non_finite == NonFinitePolicy::leave_float && plan == nullptr;
  if (!reads_weights) return in_file(analyze(graph, registry, options), model);
  QUADRANT_TRY(QuantizeResult result, in_file(quadrant::quantize(graph, registry, options), model));
  return std::move(result.analysis);
}

Expected<QuantizeResult> PreparedRun::quantize(const FollowOptions& follow) {
  QUADRANT_CHECK(context.check_stop());
  QuantizeOptions options = engine_options();
  options.plan = follow.plan;
  options.store = follow.store;
  const auto cost = [this](Value weight) {
    return rounding_cost(graph, weight, weights.moments.get());
  };
  QUADRANT_CHECK(begin(options));
  if (rounding != nullptr) {
    const std::lock_guard lock(rounding->mutex);
    rounding->weights.clear();  // of forms that were measured, and of what another plan chose
  }
  QUADRANT_TRY(QuantizeResult result,
               in_file(quadrant::quantize(graph, registry, options, {context.ranks, cost}), model));
  if (rounding != nullptr && context.ranks != nullptr) {
    QUADRANT_CHECK(share(*rounding, *context.ranks));
  }
  if (follow.is_to_be_used) {
    for (const auto& step : steps.finish) {
      QUADRANT_CHECK(context.check_stop());
      QUADRANT_CHECK(step(graph, result.graph));
    }
  }
  for (const auto& step : steps.review) step(graph, result);
  return result;
}

Expected<void> check_transform(const OptionValues& options) {
  return check(optimizations_of(options));
}

Expected<void> transform_model(Graph& model, const OptionValues& options, const std::string& path,
                               const RunContext& context, const RunInputs& inputs) {
  QUADRANT_CHECK(context.check_stop());
  QUADRANT_CHECK(check_transform(options));
  const Optimizations wanted = optimizations_of(options);
  QUADRANT_CHECK(check_samples(wanted, inputs));
  QUADRANT_CHECK(in_file(transform(model, wanted, path, context), path));
  if (!wanted.has("migrate")) return {};
  return in_file(migrate_activations(model, {}, inputs, context), path);
}

Expected<RunResult> run(RunRequest request, Graph model, const RunContext& context,
                        FollowOptions follow) {
  QUADRANT_TRY(CheckedRun checked, check_run(std::move(request), context));
  const auto bits = follow.plan == nullptr ? checked.recipe.target_bits : std::nullopt;
  if (bits) QUADRANT_CHECK(check_budget_recipe(checked.recipe, context.all_schemes()));
  QUADRANT_TRY(PreparedRun prepared, prepare(std::move(checked), std::move(model), context));
  std::optional<BudgetDecision> decided;
  if (bits) {
    QUADRANT_TRY(decided, decide_by_budget({.bits = bits}, {}, prepared));
    follow.plan = &decided->outcome.plan;
  }
  QUADRANT_TRY(QuantizeResult quantized, prepared.quantize(follow));
  if (quantized.analysis.plan.values.empty()) {
    context.note("nothing is quantized: `explain` says why of each value",
                 {.file = prepared.model});
  }
  return RunResult{std::move(prepared), std::move(quantized)};
}

}  // namespace quadrant::inline v0
