// quadrant explain MODEL [NODE]: why values are quantized, or are not; and why a plan differs.
#include "quadrant/engine/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/typed_keys.hpp"
#include "pipeline/explain_run.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/report/tables.hpp"
#include "recipe/node_names.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

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
      QUADRANT_TRY(const auto found, differences_from(subject, analysis, *against, against_));
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
      explanations =
          target ? explain_computations(subject, analysis) : explain_of_interest(subject, analysis);
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
