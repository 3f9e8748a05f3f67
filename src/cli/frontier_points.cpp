#include "cli/frontier_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace quadrant::cli {
namespace {

// In which forms the weights are stored, for any choice of options.
class FormCounter {
 public:
  explicit FormCounter(std::span<const BudgetItem> items) {
    for (const BudgetItem& item : items) {
      auto& options = counts_.emplace_back();
      for (const BudgetOption& option : item.options) options.push_back(count(item, option));
    }
  }

  // Of forms that no weight has, nothing; floats come last.
  [[nodiscard]] std::vector<FormCount> operator()(std::span<const std::uint32_t> options) const {
    std::vector<std::uint64_t> weights(forms_.size(), 0);
    for (std::size_t i = 0; i < options.size(); ++i) {
      for (const auto& [form, count] : counts_[i][options[i]]) weights[form] += count;
    }
    std::vector<FormCount> found;
    for (std::size_t form = 0; form < forms_.size(); ++form) {
      if (weights[form] != 0) found.push_back({forms_[form], weights[form]});
    }
    std::ranges::stable_partition(found,
                                  [](const FormCount& count) { return count.form != in_float; });
    return found;
  }

 private:
  static constexpr std::string_view in_float = "float";
  using Count = std::pair<std::size_t, std::uint64_t>;  // place in `forms_`, weights

  [[nodiscard]] std::size_t form(std::string_view name) {
    const auto [known, is_new] = places_.emplace(name, forms_.size());
    if (is_new) forms_.emplace_back(name);
    return known->second;
  }

  [[nodiscard]] std::vector<Count> count(const BudgetItem& item, const BudgetOption& option) {
    std::unordered_map<std::string_view, std::string_view> scheme_of;
    for (const PlannedValue& planned : option.values) {
      scheme_of.emplace(planned.value, planned.scheme);
    }
    std::vector<Count> counts;
    for (const std::string& stored : item.stored) {
      const auto planned = scheme_of.find(stored);
      const std::size_t place = form(planned == scheme_of.end() ? in_float : planned->second);
      const auto known = std::ranges::find(counts, place, &Count::first);
      if (known == counts.end()) {
        counts.emplace_back(place, 1);
      } else {
        ++known->second;
      }
    }
    return counts;
  }

  std::vector<std::string> forms_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::vector<std::vector<Count>>> counts_;  // by item and option
};

}  // namespace

std::vector<FrontierPoint> frontier_points(const BudgetStudy& study,
                                           std::span<const BudgetPoint> points,
                                           const BudgetOutcome* chosen) {
  const FormCounter forms(study.items());
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
      "The best that there is for each price of a byte. Errors are predicted: noise over signal "
      "{}, "
      "of each weight by itself, added up.",
      at_outputs ? "at the output that has most" : "of the weights");
}

void add_frontier(HtmlReport& report, const BudgetSubject& decided, const BudgetOutcome& outcome,
                  const BudgetOptions& options) {
  const BudgetStudy& study = decided.study();
  report.frontier = frontier_points(study, study.frontier(), &outcome);
  report.frontier_note =
      fmt::format("{}\n{}", frontier_note(decided.has_data()), to_string(outcome, options));
}

}  // namespace quadrant::cli
