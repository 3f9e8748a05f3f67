#include "cli/budget_outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "report/form_counter.hpp"
#include "report/terminal_text.hpp"
#include "support/decibels.hpp"

namespace quadrant::cli {
namespace {

// JSON has no infinity.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string print_unused(const BudgetOutcome& outcome) {
  std::string text = fmt::format(": {:.2f} % of the budget is left", 100 * outcome.unused);
  if (outcome.unused <= 0.01) return text;
  if (outcome.plan.values.empty()) return text + ", since floats fit into it";
  if (outcome.predicted == 0) return text + ", since nothing is lost";
  return text + (outcome.refused_upgrades == 0
                     ? "; no single change that would be better fits into it"
                     : fmt::format("; {} would fit and lower no error",
                                   count_of(outcome.refused_upgrades, "single change")));
}

std::string print_judged(const BudgetDecision& decided) {
  const std::optional<double>& judged = decided.outcome.judged;
  if (!judged) return {};
  return fmt::format(", {} on {} that nothing was fitted on", print_decibels(*judged),
                     count_of(decided.subject->held_back(), "sample"));
}

}  // namespace

std::string print_decibels(double error) {
  return error > 0 ? fmt::format("{:.2f} dB", decibels_of(error)) : std::string("exact");
}

std::string to_string(const BudgetDecision& decided) {
  const BudgetOutcome& outcome = decided.outcome;
  const FormCounter forms(decided.subject->study().items());
  std::string text = fmt::format("  {} in the file", format_bytes(outcome.figures.file_bytes));
  if (!decided.subject->study().items().empty()) {
    text += fmt::format(", {:.3f} bits for each weight that can be quantized", outcome.bits);
  }
  text += outcome.bound ? print_unused(outcome) + '\n' : "\n";
  text += outcome.plan.values.empty()
              ? std::string("  nothing is quantized: every weight stays in float\n")
              : fmt::format("  forms: {}\n", printable(to_string(forms(outcome.options))));
  if (decided.subject->errors() == BudgetErrors::of_outputs) {
    text += fmt::format("  outputs: {} measured, {} predicted{}\n",
                        print_decibels(outcome.figures.output_error),
                        print_decibels(outcome.predicted), print_judged(decided));
  }
  text += fmt::format("  weights: {} at least\n", print_decibels(outcome.figures.worst_weight));
  if (outcome.bound && outcome.predicted > 0 && *outcome.bound > 0) {
    text += fmt::format("  no choice has a predicted error more than {:.2f} % lower\n",
                        std::max(0.0, 100 * (1 - *outcome.bound / outcome.predicted)));
  }
  return text;
}

Json to_json(const BudgetDecision& decided) {
  const auto& [subject, outcome] = decided;
  const BudgetStudy& study = subject->study();
  Json weights = Json::array();
  for (std::size_t i = 0; i < study.items().size(); ++i) {
    const BudgetItem& item = study.items()[i];
    const BudgetOption& option = item.options[outcome.options[i]];
    weights.push_back({{"values", item.stored},
                       {"elements", item.elements},
                       {"form", option.label},
                       {"bytes", option.stored_bytes}});
  }
  return {{"file_bytes", outcome.figures.file_bytes},
          {"bits", outcome.bits},
          {"unused", outcome.unused},
          {"refused_upgrades", outcome.refused_upgrades},
          {"predicted_error", outcome.predicted},
          {"bound", outcome.bound ? Json(*outcome.bound) : Json(nullptr)},
          {"judged_error", outcome.judged ? number_or_null(*outcome.judged) : Json(nullptr)},
          {"output_error", number_or_null(outcome.figures.output_error)},
          {"weight_error", number_or_null(outcome.figures.weight_error)},
          {"worst_weight", number_or_null(outcome.figures.worst_weight)},
          {"plans_measured", outcome.plans_measured},
          {"weights", std::move(weights)}};
}

}  // namespace quadrant::cli
