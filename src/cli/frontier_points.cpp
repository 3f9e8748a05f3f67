#include "cli/frontier_points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/budget_outcome.hpp"
#include "report/form_counter.hpp"
#include "support/decibels.hpp"

namespace quadrant::cli {

std::vector<FrontierPoint> frontier_points(std::span<const BudgetItem> items,
                                           std::span<const BudgetPoint> points,
                                           const BudgetOutcome* chosen) {
  const FormCounter forms(items);
  std::vector<FrontierPoint> shown;
  bool is_among_them = false;
  for (const BudgetPoint& point : points) {
    FrontierPoint& made = shown.emplace_back();
    made.bytes = point.file_bytes;
    made.bits_per_weight = point.bits;
    made.error_db = -decibels_of(point.error);
    made.label = fmt::format("point {}", shown.size());
    made.forms = forms(point.options);
    made.change = point.change;
    if (chosen == nullptr || point.options != chosen->options) continue;
    made.bytes = chosen->figures.file_bytes;
    made.is_chosen = is_among_them = true;
  }
  if (chosen == nullptr || is_among_them) return shown;
  const auto larger = std::ranges::find_if(shown, [chosen](const FrontierPoint& point) {
    return point.bytes > chosen->figures.file_bytes;
  });
  shown.insert(larger, {.bytes = chosen->figures.file_bytes,
                        .bits_per_weight = chosen->bits,
                        .error_db = -decibels_of(chosen->predicted),
                        .label = "this file",
                        .is_chosen = true,
                        .is_on_line = false,
                        .forms = forms(chosen->options)});
  return shown;
}

std::string frontier_note(BudgetErrors errors) {
  const auto of = [errors]() -> std::string_view {
    switch (errors) {
      case BudgetErrors::of_outputs:
        return "at the output that has most";
      case BudgetErrors::assumed:
        return "(half at the output that has most, on assumed inputs, half of the weights)";
      case BudgetErrors::of_weights:
        break;
    }
    return "of the weights";
  };
  return fmt::format(
      "The best choice for each price of a byte.\nSizes and errors are predicted: what each weight "
      "takes by itself, and its noise over signal {}, added up.",
      of());
}

void add_frontier(HtmlReport& report, const BudgetDecision& decided) {
  const auto& [subject, outcome] = decided;
  const BudgetStudy& study = subject->study();
  report.frontier = frontier_points(study.items(), study.frontier(), &outcome);
  report.frontier_note =
      fmt::format("{}\n{}", frontier_note(subject->errors()), to_string(decided));
}

}  // namespace quadrant::cli
