#include "pipeline/budget_outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "report/form_counter.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"
#include "support/decibels.hpp"

namespace quadrant::inline v0 {
namespace {

// `31.20 dB`, or `exact`.
std::string print_decibels(double error) {
  return error > 0 ? fmt::format("{:.2f} dB", decibels_of(error)) : std::string("exact");
}

std::string print_unused(const BudgetOutcome& outcome) {
  std::string text = fmt::format(": {:.2f} % of the budget is left", 100 * outcome.unused);
  if (outcome.unused <= 0.01) return text;
  if (outcome.plan.values.empty()) return text + ", since floats fit into it";
  if (outcome.predicted == 0) return text + ", since nothing is lost";
  return text + (outcome.refused_upgrades == 0
                     ? "; no single change that would be better fits into it"
                     : fmt::format("; {} would fit, and none that was tried lowers the error",
                                   counted(outcome.refused_upgrades, "single change")));
}

std::string print_judged(const BudgetDecision& decided) {
  const std::optional<double>& judged = decided.outcome.judged;
  if (!judged) return {};
  const std::string held_back = counted(decided.subject->held_back(), "held-back sample");
  const std::size_t plans = decided.outcome.judged_plans;
  if (plans < 2) return fmt::format(", {} on {}", print_decibels(*judged), held_back);
  return fmt::format(", {} as the best of {} plans on {}", print_decibels(*judged), plans,
                     held_back);
}

// Decibels over bytes, a star for each point.
std::string plot(std::span<const BudgetPoint> points) {
  constexpr std::size_t width = 64;
  constexpr std::size_t height = 16;
  std::vector<const BudgetPoint*> shown;  // floats alone have no error, so no decibels
  for (const BudgetPoint& point : points) {
    if (point.error > 0) shown.push_back(&point);
  }
  if (shown.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(
      shown, {}, [](const BudgetPoint* point) { return decibels_of(point->error); });
  const double low = decibels_of(least->error);
  const double range = std::max(1e-9, decibels_of(most->error) - low);
  const auto first = static_cast<double>(shown.front()->file_bytes);
  const double bytes = std::max(1.0, static_cast<double>(shown.back()->file_bytes) - first);
  std::vector<std::string> rows(height, std::string(width, ' '));
  for (const BudgetPoint* point : shown) {
    const double x = (static_cast<double>(point->file_bytes) - first) / bytes * (width - 1);
    const double y = (decibels_of(point->error) - low) / range * (height - 1);
    rows[height - 1 - static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = '*';
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    const double decibels = low + range * static_cast<double>(height - 1 - i) / (height - 1);
    const std::string label =
        i % 5 == 0 ? fmt::format("{:8.1f} dB", decibels) : std::string(11, ' ');
    const std::size_t end = rows[i].find_last_not_of(' ');
    text +=
        fmt::format("{} |{}\n", label, rows[i].substr(0, end == std::string::npos ? 0 : end + 1));
  }
  return text + fmt::format("{:11} +{}\n{:13}{} to {}\n", "", std::string(width, '-'), "",
                            format_bytes(shown.front()->file_bytes),
                            format_bytes(shown.back()->file_bytes));
}

}  // namespace

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
  if (decided.subject->has_data()) {
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
          {"bound", or_null(outcome.bound)},
          {"judged_error", or_null(outcome.judged)},
          {"judged_plans", outcome.judged_plans},
          {"judged_samples", subject->held_back()},
          {"output_error", outcome.figures.output_error},
          {"weight_error", outcome.figures.weight_error},
          {"worst_weight", outcome.figures.worst_weight},
          {"plans_measured", outcome.plans_measured},
          {"weights", std::move(weights)}};
}

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

std::string frontier_note(bool at_outputs) {
  return fmt::format(
      "The best choice for each price of a byte.\nSizes and errors are predicted: what each weight "
      "takes by itself, and its noise over signal {}, added up.",
      at_outputs ? "at the output that has most" : "of the weights");
}

std::string print_frontier(const BudgetStudy& study, std::span<const BudgetPoint> points,
                           bool at_outputs) {
  using enum Table::Align;
  Table table({{"file", right}, {"bits", right}, {"error", right}, {"SQNR", right}, {"change"}});
  for (const BudgetPoint& point : points) {
    table.add({format_bytes(point.file_bytes), fmt::format("{:.3f}", point.bits),
               fmt::format("{:.3g}", point.error), print_decibels(point.error), point.change});
  }
  const std::string first = points.empty()
                                ? std::string()
                                : to_string(FormCounter(study.items())(points.front().options));
  return fmt::format("{}\nThe smallest has {}.\n\n{}\n{}", frontier_note(at_outputs),
                     printable(first), table.print(), plot(points));
}

Json frontier_json(const BudgetStudy& study, std::span<const BudgetPoint> points) {
  Json weights = Json::array();
  for (const BudgetItem& item : study.items()) {
    weights.push_back({{"values", item.stored}, {"elements", item.elements}});
  }
  Json list = Json::array();
  for (const BudgetPoint& point : points) {
    Json forms = Json::array();
    for (std::size_t i = 0; i < point.options.size(); ++i) {
      forms.push_back(study.items()[i].options[point.options[i]].label);
    }
    list.push_back({{"file_bytes", point.file_bytes},
                    {"bits", point.bits},
                    {"error", point.error},
                    {"change", point.change},
                    {"forms", std::move(forms)}});
  }
  return {{"weights", std::move(weights)}, {"points", std::move(list)}};
}

void add_frontier(HtmlReport& report, const BudgetDecision& decided) {
  const auto& [subject, outcome] = decided;
  const BudgetStudy& study = subject->study();
  report.frontier = frontier_points(study.items(), study.frontier(), &outcome);
  report.frontier_note =
      fmt::format("{}\n{}", frontier_note(subject->has_data()), to_string(decided));
}

}  // namespace quadrant::inline v0
