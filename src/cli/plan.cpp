// quadrant plan MODEL: what would be quantized. Reads no tensor's contents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/budget.hpp"
#include "cli/budget_outcome.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/frontier_points.hpp"
#include "cli/report_options.hpp"
#include "cli/rule_summary.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/report/tables.hpp"
#include "report/objective.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

struct Totals {
  std::uint64_t stored = 0;  // planned values that are constants
  std::uint64_t bytes = 0;   // of these, in float
};

// The constant that is the value; null for computed ones.
const Constant* contents(const Graph& graph, const std::string& value) {
  const Value found = graph.find_value(value);
  return found.is_absent() ? nullptr : graph.constant(found.node);
}

Totals count(const Graph& graph, const Plan& plan) {
  Totals totals;
  for (const PlannedValue& planned : plan.values) {
    if (const Constant* constant = contents(graph, planned.value)) {
      ++totals.stored;
      totals.bytes += constant->byte_size();
    }
  }
  return totals;
}

bool has_values(const Plan& plan, std::string_view scheme) {
  return std::ranges::find(plan.values, scheme, &PlannedValue::scheme) != plan.values.end();
}

std::string print_text(const Graph& graph, const Plan& plan, std::optional<Gain> bound,
                       const GainModel& gains) {
  using enum Table::Align;
  const Totals totals = count(graph, plan);
  std::string text;
  if (!plan.values.empty()) {
    // Where several schemes run, forms of two may print alike.
    const bool is_mix = plan.schemes.size() > 1;
    Table table({{"value"}, {"constraint"}, {"bytes", right}, {"gain", right}});
    for (const PlannedValue& planned : plan.values) {
      const Constant* constant = contents(graph, planned.value);
      table.add({planned.value,
                 is_mix ? planned.scheme + ' ' + planned.constraint : planned.constraint,
                 constant != nullptr ? format_bytes(constant->byte_size()) : "-",
                 fmt::to_string(planned.gain.amount())});
    }
    text = table.print() + '\n';
  }
  Table table({{""}, {""}});
  std::vector<std::string_view> unused;
  for (const PlannedScheme& scheme : plan.schemes) {
    if (plan.schemes.size() == 1 || has_values(plan, scheme.name)) {
      table.add({"scheme", fmt::format("{} ({})", scheme.name, scheme.options)});
    } else {
      unused.push_back(scheme.name);
    }
  }
  if (!unused.empty()) {
    table.add({"unused", fmt::to_string(fmt::join(unused, ", "))});
  }
  table.add({"to quantize", fmt::to_string(plan.values.size())});
  table.add({"of these stored",
             fmt::format("{}, {} in float", totals.stored, format_bytes(totals.bytes))});
  table.add({"conversions", fmt::to_string(plan.conversions.size())});
  table.add({"objective", describe_objective(plan.objective, bound, gains.unit())});
  if (const auto in_float = gains.in_float(graph)) {
    table.add({"predicted", fmt::format("{} {} in float, {} quantized", in_float->amount(),
                                        gains.unit(), (*in_float - plan.objective).amount())});
  }
  return text + table.print();
}

class MakePlan final : public Command {
 public:
  explicit MakePlan(const SchemeTable& schemes) : options_(schemes) {}

  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("plan", "Show, or save, what would be quantized");
    cli::declare(*command, options_);
    declare_non_finite(*command, options_.non_finite);
    declare_save_recipe(*command, options_);
    command->add_option("-o,--output", output_, "Save the plan for 'quantize --plan'")
        ->type_name("FILE");
    cli::declare(*command, side_);
    cli::declare(*command, budget_);
    command->footer(
        "Examples:\n"
        "  quadrant plan model.onnx --scheme weight-only\n"
        "  quadrant plan model.onnx --scheme weight-only -o plan.json\n"
        "  quadrant quantize model.onnx -o small.onnx --scheme weight-only --plan plan.json");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }

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
    if (options_.json) {
      const Totals totals = count(subject.graph, plan);
      const std::optional<Gain> bound = analysis.selection.bound();
      const std::optional<Gain> in_float = subject.gains->in_float(subject.graph);
      Json document{{"model", options_.model},
                    {"output", output_.empty() ? Json(nullptr) : Json(output_)},
                    {"stored_values", totals.stored},
                    {"stored_bytes", totals.bytes},
                    {"gain_unit", subject.gains->unit()},
                    {"in_float", in_float ? Json(in_float->amount()) : Json(nullptr)},
                    {"bound", bound ? Json(bound->amount()) : Json(nullptr)},
                    {"rules", to_json(rules)},
                    {"budget", decided ? cli::to_json(decided->decision) : Json(nullptr)},
                    {"plan", Json::parse(print_plan(plan))}};
      add_files(document, side_);
      console.print_json(std::move(document));
    } else {
      console.print(print_text(subject.graph, plan, analysis.selection.bound(), *subject.gains));
      if (!rules.empty()) console.print('\n' + print_rules(rules));
      if (decided) console.print('\n' + cli::to_string(decided->decision));
      if (!output_.empty()) console.print(fmt::format("\n  saved in {}\n", printable(output_)));
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
