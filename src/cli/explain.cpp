// quadrant explain MODEL [NODE]: why values are quantized, or are not; and why a plan differs.
#include "quadrant/engine/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/plan_variants.hpp"
#include "cli/typed_keys.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/report/tables.hpp"
#include "recipe/node_names.hpp"
#include "report/terminal_text.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

bool may_consume(const Registry& registry, std::string_view kind) {
  for (std::uint32_t i = 0; i < registry.scheme_count(); ++i) {
    const QuantizationMethod* const method = registry.find(kind, i);
    if (method != nullptr && method->eligible_state() == State::Consumer) return true;
  }
  return false;
}

// What a user asks about first: each weight, the largest first, then each operation that would
// gain, in the order in which they are computed.
std::vector<Explanation> of_interest(const PreparedRun& subject, const Analysis& analysis) {
  std::vector<std::pair<std::uint64_t, Explanation>> weights;
  std::vector<Explanation> consumers;
  for (Explanation& explanation : explain_all(subject.graph, subject.registry, analysis)) {
    const Value value = subject.graph.find_value(explanation.value);
    if (value.is_absent()) continue;
    const Constant* constant = subject.graph.constant(value.node);
    if (constant != nullptr && is_float(subject.graph.type(value).element)) {
      weights.emplace_back(constant->byte_size(), std::move(explanation));
    } else if (may_consume(subject.registry, explanation.kind)) {
      consumers.push_back(std::move(explanation));
    }
  }
  std::ranges::sort(weights, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.value < b.second.value;
  });
  std::vector<Explanation> result;
  result.reserve(weights.size() + consumers.size());
  for (auto& [bytes, explanation] : weights) result.push_back(std::move(explanation));
  std::ranges::move(consumers, std::back_inserter(result));
  return result;
}

// Of a scheme that is for a target: what it could compute on codes.
std::vector<Explanation> of_computations(const PreparedRun& subject, const Analysis& analysis) {
  std::vector<Explanation> all = explain_all(subject.graph, subject.registry, analysis);
  std::vector<Explanation> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_computation(subject.graph.ref(analysis.order[i]))) result.push_back(std::move(all[i]));
  }
  return result;
}

// What a plan says of a value, where it cannot be followed: what it gained, but not why.
Explanation as_planned(const Explanation& now, const PlannedValue* planned, bool with_scheme) {
  Explanation result;
  result.value = now.value;
  result.node = now.node;
  result.kind = now.kind;
  result.reason = "the plan leaves it in float";
  if (planned != nullptr) {
    result.state = State::ToQuantize;
    result.reason = fmt::format("{}{}, gain {}", with_scheme ? planned->scheme + ' ' : "",
                                planned->constraint, planned->gain.amount());
  }
  return result;
}

// Whether it knows nothing of this one.
bool is_of_other_model(const Plan& plan, const Graph& graph) {
  return !plan.values.empty() && std::ranges::all_of(plan.values, [&](const PlannedValue& planned) {
    return graph.find_value(planned.value).is_absent();
  });
}

// The same as `explain_differences` for a plan of which there is no analysis. What was selected by
// the same scheme in the same form is no difference.
std::vector<ExplainedDifference> differences_from(const PreparedRun& subject, const Plan& plan,
                                                  const Analysis& analysis) {
  const auto by_name = [](const Plan& from) {
    std::unordered_map<std::string_view, const PlannedValue*> found;
    for (const PlannedValue& value : from.values) found.emplace(value.value, &value);
    return found;
  };
  // Forms of other schemes may print alike.
  const bool with_scheme = !std::ranges::equal(plan.schemes, analysis.plan.schemes, {},
                                               &PlannedScheme::name, &PlannedScheme::name);
  const auto before = by_name(plan);
  const auto after = by_name(analysis.plan);
  std::vector<ExplainedDifference> result;
  for (Explanation& now : explain_all(subject.graph, subject.registry, analysis)) {
    const auto was = before.find(now.value);
    const auto is = after.find(now.value);
    const PlannedValue* const planned = was == before.end() ? nullptr : was->second;
    const PlannedValue* const selected = is == after.end() ? nullptr : is->second;
    if (planned == nullptr && selected == nullptr) continue;
    const bool is_same = planned != nullptr && selected != nullptr &&
                         planned->scheme == selected->scheme &&
                         planned->constraint == selected->constraint;
    if (is_same) continue;
    Explanation before_now = as_planned(now, planned, with_scheme);
    // Where several run, the reason has it.
    if (with_scheme && selected != nullptr && subject.registry.scheme_count() == 1) {
      now.reason = fmt::format("{} {}", selected->scheme, now.reason);
    }
    result.push_back({std::move(before_now), std::move(now)});
  }
  return result;
}

class Explain final : public Command {
 public:
  explicit Explain(const SchemeTable& schemes)
      : Command({.name = "explain",
                 .about = "Say why values are quantized or are not",
                 .runs_models = true}),
        options_(schemes) {}

  void declare(CLI::App& command) override {
    cli::declare(command, options_, json_);
    node_option_ =
        add_value(command, "NODE", node_, "",
                  "Node or value to explain in full; without it, a line for each weight and each "
                  "operation that could gain");
    add_choice(command, "--target", target_, kernels_targets(),
               "With --scheme fake_quantize or qdq_fusion, which 'quadrant convert' runs: the "
               "runtime whose kernels compute on codes (default: openvino-cpu, tflite)");
    declare_non_finite(command, options_.non_finite);
    command.add_flag("--all", all_, "A line for each value, and each operation that makes none");
    plan_option_ =
        add_value(command, "--plan", plan_path_, "FILE",
                  "Explain a plan that 'quadrant plan -o' saved, not what would be decided");
    add_value(command, "--against", against_, "FILE",
              "Only what a saved plan decides differently, with the reasons of both");
    command.footer(
        "Examples:\n"
        "  quadrant explain model.onnx --scheme weight-only\n"
        "  quadrant explain model.onnx fc1.weight --scheme weight-only\n"
        "  quadrant explain model.onnx --scheme weight-only --exclude head --against plan.json\n"
        "  quadrant explain model.xml conv1 --scheme fake-quantize --target openvino-cpu");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check_call());
    QUADRANT_TRY(const auto target, target_of(options_.recipe.scheme, target_));
    QUADRANT_CHECK(check_target(target));
    std::optional<Plan> plan;
    std::optional<Plan> against;
    if (!plan_path_.empty()) {
      QUADRANT_TRY(plan, read_plan(plan_path_));
    }
    if (!against_.empty()) {
      QUADRANT_TRY(against, read_plan(against_));
    }
    options_.meets_budgets = plan.has_value();  // a budget is what made it
    QUADRANT_TRY(PreparedRun subject,
                 target ? prepare_for(*target, options_, console) : prepare(options_, console));
    if (plan) QUADRANT_CHECK(use_variants_of(*plan, options_, subject));
    std::vector<Value> values;
    if (!node_.empty()) {
      QUADRANT_TRY(values, values_called(subject.graph, node_));
    }
    QUADRANT_TRY(const Analysis analysis, subject.decide(plan ? &*plan : nullptr));
    if (against) {
      QUADRANT_TRY(const auto found, differences(subject, analysis, *against, console));
      print(found, subject, console);
      return {};
    }
    std::vector<Explanation> explanations;
    explanations.reserve(values.size());
    for (const Value value : values) {
      explanations.push_back(explain(subject.graph, subject.registry, analysis, value));
    }
    if (all_) {
      explanations = explain_values(subject.graph, subject.registry, analysis);
    } else if (node_.empty()) {
      explanations = target ? of_computations(subject, analysis) : of_interest(subject, analysis);
    }
    print(explanations, subject, console);
    if (!json_) print_sums(values, explanations, subject, console);
    return {};
  }

 private:
  // Of a run that makes codes of 8 bits of data: what `values`, which were explained, do with them.
  static void print_sums(const std::vector<Value>& values,
                         const std::vector<Explanation>& explanations, const PreparedRun& subject,
                         Console& console) {
    const auto& schemes = subject.recipe.recipe.schemes;
    if (std::ranges::find(schemes, "static_affine", &SchemeChoice::scheme) == schemes.end()) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (explanations[i].state != State::ToQuantize) continue;
      const std::string note = typed_keys(pairing_note(subject.graph, values[i].node),
                                          [](const std::string& /*option*/) { return true; });
      if (!note.empty()) console.print(fmt::format("  {}\n", note));
    }
  }

  [[nodiscard]] Expected<void> check_call() const {
    if (node_option_->count() != 0 && node_.empty()) {
      return fail(ErrorCode::usage,
                  "explain: NODE is empty: name a node or a value, or leave it out");
    }
    const int chosen = (node_.empty() ? 0 : 1) + (all_ ? 1 : 0) + (against_.empty() ? 0 : 1);
    if (chosen > 1) {
      return fail(ErrorCode::usage,
                  "explain: NODE, --all and --against say what to explain: one of them");
    }
    if (plan_option_->count() != 0 && options_.scope.is_given()) {
      return fail(ErrorCode::usage,
                  "explain: --plan says what to quantize; --include and --exclude belong to the "
                  "'quadrant plan' that made it");
    }
    return {};
  }

  [[nodiscard]] Expected<void> check_target(const std::optional<KernelsTarget>& target) const {
    if (!target && !target_.empty()) {
      return fail(ErrorCode::usage,
                  fmt::format("--target is for --scheme {} and {}, which 'quadrant convert' runs",
                              low_precision_scheme, fusion_scheme));
    }
    if (target && !(plan_path_.empty() && against_.empty())) {
      return fail(ErrorCode::usage,
                  fmt::format("--plan and --against are plans of 'quadrant plan', which does not "
                              "run {}",
                              scheme_of(*target)));
    }
    return {};
  }

  // The plan is followed as it was made: whatever these options exclude.
  [[nodiscard]] Expected<std::vector<ExplainedDifference>> differences(const PreparedRun& subject,
                                                                       const Analysis& analysis,
                                                                       const Plan& plan,
                                                                       Console& console) const {
    QuantizeOptions engine = subject.engine_options();
    engine.vetoes.clear();
    engine.value_vetoes.clear();
    engine.plan = &plan;
    if (is_of_other_model(plan, subject.graph)) {
      return fail(ErrorCode::impossible,
                  fmt::format("the model has none of the plan's values, such as '{}': this plan is "
                              "of another model",
                              plan.values.front().value),
                  {.file = against_});
    }
    const auto followed = analyze(subject.graph, subject.registry, engine);
    if (followed) return explain_differences(subject.graph, *followed, analysis);
    console.report({Severity::note,
                    fmt::format("it cannot be followed with these options, so that its own reasons "
                                "are not known: {}",
                                to_string(followed.error())),
                    {.file = against_}});
    return differences_from(subject, plan, analysis);
  }

  void print(const std::vector<ExplainedDifference>& differences, const PreparedRun& subject,
             Console& console) const {
    if (json_) {
      Json list = Json::array();
      for (const ExplainedDifference& difference : differences) {
        list.push_back({{"value", difference.after.value},
                        {"before", to_json(difference.before)},
                        {"after", to_json(difference.after)}});
      }
      console.print_json(Json{{"model", options_.model},
                              {"against", against_},
                              {"gain_unit", subject.gains->unit()},
                              {"differences", std::move(list)}});
      return;
    }
    for (const auto& [before, after] : differences) {
      console.print(fmt::format("{} ({})\n- {}\n+ {}\n", printable(after.value),
                                printable(after.kind), printable(before.reason),
                                printable(after.reason)));
    }
  }

  void print(const std::vector<Explanation>& explanations, const PreparedRun& subject,
             Console& console) const {
    if (json_) {
      Json list = Json::array();
      for (const Explanation& explanation : explanations) list.push_back(to_json(explanation));
      console.print_json(Json{{"model", options_.model},
                              {"gain_unit", subject.gains->unit()},
                              {"explanations", std::move(list)}});
    } else if (node_.empty()) {
      Table table({{"value"}, {"operation"}, {"state"}, {"why"}});
      for (const Explanation& explanation : explanations) {
        table.add({explanation.value, explanation.kind, std::string(to_string(explanation.state)),
                   explanation.reason});
      }
      console.print(table.print());
    } else {
      for (const Explanation& explanation : explanations) {
        console.print(printable_lines(to_string(explanation)));
      }
    }
  }

  DecisionOptions options_;
  std::string node_;
  CLI::Option* node_option_ = nullptr;
  std::string target_;
  bool all_ = false;
  std::string plan_path_;
  CLI::Option* plan_option_ = nullptr;
  std::string against_;
};

}  // namespace

std::unique_ptr<Command> make_explain(const SchemeTable& schemes) {
  return std::make_unique<Explain>(schemes);
}

}  // namespace quadrant::cli
