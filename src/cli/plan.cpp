// quadrant plan MODEL: what would be quantized. Reads no tensor's contents.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/budget.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/report_options.hpp"
#include "pipeline/budget_outcome.hpp"
#include "pipeline/plan_text.hpp"
#include "pipeline/rule_summary.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

class MakePlan final : public Command {
 public:
  explicit MakePlan(const SchemeTable& schemes)
      : Command({.name = "plan",
                 .about = "Show, or save, what would be quantized",
                 .runs_models = true}),
        options_(schemes) {}

  void declare(CLI::App& command) override {
    cli::declare(command, options_, json_);
    declare_non_finite(command, options_.non_finite);
    declare_save_recipe(command, options_);
    add_value(command, "-o,--output", output_, "FILE", "Save the plan for 'quantize --plan'");
    cli::declare(command, side_);
    cli::declare(command, budget_);
    command.footer(
        "Examples:\n"
        "  quadrant plan model.onnx --scheme weight-only\n"
        "  quadrant plan model.onnx --scheme weight-only -o plan.json\n"
        "  quadrant quantize model.onnx -o small.onnx --scheme weight-only --plan plan.json");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check(side_));
    QUADRANT_CHECK(announce(budget_, options_));
    QUADRANT_TRY(PreparedRun subject, prepare(options_, console));
    QUADRANT_TRY(const std::optional<MetBudget> decided,
                 meet_budget(budget_, {}, options_.model, subject, console));
    QUADRANT_TRY(const Analysis analysis,
                 subject.decide(decided ? &decided->decision.outcome.plan : nullptr));
    const Plan& plan = analysis.plan;
    const ReportSubject reported{.graph = subject.graph,
                                 .registry = subject.registry,
                                 .analysis = analysis,
                                 .model = options_.model,
                                 .gain_unit = std::string(subject.gains->unit()),
                                 .sink = &console};
    QUADRANT_TRY(std::optional<HtmlReport> report, gather(side_, reported));
    if (report) {
      report->file_bytes_before = subject.file_bytes;
      if (decided) add_frontier(*report, decided->decision);
    }
    const std::vector<RuleSummary> rules = summarize_rules(subject, analysis);
    if (!output_.empty()) QUADRANT_CHECK(console.write_text(output_, print_plan(plan)));
    QUADRANT_CHECK(write(side_, reported, report, console));
    QUADRANT_CHECK(save_recipe(options_, subject, console));
    if (json_) {
      const PlanTotals totals = totals_of(plan, subject.graph);
      const std::optional<Gain> bound = analysis.selection.bound();
      const std::optional<Gain> in_float = subject.gains->in_float(subject.graph);
      Json document{{"model", options_.model},
                    {"output", text_or_null(output_)},
                    {"stored_values", totals.stored},
                    {"stored_bytes", totals.bytes},
                    {"gain_unit", subject.gains->unit()},
                    {"in_float", in_float ? Json(in_float->amount()) : Json(nullptr)},
                    {"bound", bound ? Json(bound->amount()) : Json(nullptr)},
                    {"rules", to_json(rules)},
                    {"budget", decided ? to_json(decided->decision) : Json(nullptr)},
                    {"plan", Json::parse(print_plan(plan))}};
      add_files(document, side_);
      console.print_json(std::move(document));
    } else {
      console.print(
          print_decision(plan, subject.graph, analysis.selection.bound(), *subject.gains));
      if (!rules.empty()) console.print('\n' + print_rules(rules));
      if (decided) console.print('\n' + to_string(decided->decision));
      console.print(file_line("\n  saved in", output_));
      console.print(print_files(side_));
    }
    return {};
  }

 private:
  DecisionOptions options_;
  BudgetOptions budget_;
  std::string output_;
  ReportOptions side_;
};

}  // namespace

std::unique_ptr<Command> make_plan(const SchemeTable& schemes) {
  return std::make_unique<MakePlan>(schemes);
}

}  // namespace quadrant::cli
