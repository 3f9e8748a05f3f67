#include "quadrant/engine/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/option_search.hpp"

namespace quadrant::inline v0 {
std::string_view to_string(BudgetRule rule) noexcept {
  switch (rule) {
    case BudgetRule::search:
      return "search";
    case BudgetRule::hull:
      return "hull";
    case BudgetRule::lowest_error:
      return "lowest-error";
    case BudgetRule::uniform:
      return "uniform";
  }
  return "?";
}

Expected<BudgetStudy> BudgetStudy::make(const GraphView& graph, const Registry& registry,
                                        PlanMeter& meter, const QuantizeOptions& options,
                                        const BudgetStudyOptions& study) {
  BudgetStudy made(registry, meter, study);
  QUADRANT_TRY(made.items_, find_budget_items(graph, registry, options));
  if (made.items_.empty()) {
    return fail(ErrorCode::impossible,
                "none of the schemes quantizes anything here: there is nothing to decide");
  }
  const Plan nothing = made.plan(std::vector<std::uint32_t>(made.items_.size(), 0));
  QUADRANT_TRY(const auto in_float, meter.measure(std::span(&nothing, 1), {}));
  made.float_bytes_ = static_cast<double>(in_float.front().file_bytes);
  for (const BudgetItem& item : made.items_) made.figures_.emplace_back(item.options.size());
  QUADRANT_CHECK(made.measure_options());
  QUADRANT_CHECK(add_mixed_options(graph, registry, made.error_table_, options, made.items_));
  for (std::size_t i = 0; i < made.items_.size(); ++i) {
    made.figures_[i].resize(made.items_[i].options.size());
  }
  QUADRANT_CHECK(made.measure_uniform());
  return made;
}

Plan BudgetStudy::plan(std::span<const std::uint32_t> options) const {
  return plan_of(items_, options, registry_);
}

std::vector<std::uint32_t> BudgetStudy::all_of_scheme(std::uint32_t scheme) const {
  std::vector<std::uint32_t> options(items_.size(), 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& all = items_[i].options;
    const auto found = std::ranges::find(all, registry_.name(scheme), &BudgetOption::label);
    if (found != all.end()) options[i] = static_cast<std::uint32_t>(found - all.begin());
  }
  return options;
}

double BudgetStudy::bits(std::span<const std::uint32_t> options) const {
  double bytes = 0;
  double elements = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    bytes += static_cast<double>(items_[i].options[options[i]].stored_bytes);
    elements += static_cast<double>(items_[i].elements);
  }
  return 8 * bytes / elements;
}

// Each option of each item without the others: those that are to be measured at the outputs first,
// since they tell in which ratio the others are.
Expected<void> BudgetStudy::measure_options() {
  std::vector<Which> measured;
  std::vector<Which> others;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::size_t count = items_[i].options.size();
    const std::size_t middle = 1 + (count - 1) / 2;
    for (std::size_t option = 1; option < count; ++option) {
      const bool at_outputs = meter_->has_data() && (options_.measures_all || option == middle);
      (at_outputs ? measured : others).push_back({i, option});
    }
  }
  std::vector<double> ratio(items_.size(), meter_->has_data() ? 0 : 1);
  QUADRANT_TRY(const auto at_outputs, measure_alone(measured, true));
  for (std::size_t k = 0; k < measured.size(); ++k) {
    Option& known = take_figures(measured[k], at_outputs[k]);
    known.error = ErrorTable::finite(at_outputs[k].output_error);
    const double of_weights = at_outputs[k].weight_error;
    if (of_weights > 0) ratio[measured[k].item] = known.error / of_weights;
  }
  QUADRANT_TRY(const auto by_weights, measure_alone(others, false));
  for (std::size_t k = 0; k < others.size(); ++k) {
    Option& known = take_figures(others[k], by_weights[k]);
    known.error = ErrorTable::finite(by_weights[k].weight_error * ratio[others[k].item]);
  }
  for (std::size_t i = 0; i < items_.size(); ++i) enter_errors(i);
  return {};
}

Expected<std::vector<PlanFigures>> BudgetStudy::measure_alone(std::span<const Which> which,
                                                              bool at_outputs) {
  std::vector<Plan> plans;
  plans.reserve(which.size());
  for (const auto& [item, option] : which) {
    std::vector<std::uint32_t> options(items_.size(), 0);
    options[item] = static_cast<std::uint32_t>(option);
    plans.push_back(plan(options));
  }
  if (plans.empty()) return std::vector<PlanFigures>{};
  return meter_->measure(plans, {.file = true, .outputs = at_outputs});
}

BudgetStudy::Option& BudgetStudy::take_figures(const Which& which, const PlanFigures& figures) {
  Option& known = figures_[which.item][which.option];
  known.file_bytes = static_cast<double>(figures.file_bytes) - float_bytes_;
  known.worst_weight = figures.worst_weight;
  return known;
}

// An item's error is held to come from each of its values alike.
void BudgetStudy::enter_errors(std::size_t item) {
  const auto stored = static_cast<double>(items_[item].stored.size());
  for (std::size_t option = 1; option < items_[item].options.size(); ++option) {
    for (const std::string& value : items_[item].stored) {
      error_table_.set(value, items_[item].options[option].label,
                       figures_[item][option].error / stored);
    }
  }
}

// What a file needs once for a scheme (an operator set that has its types, say) is in the figure of
// each item alone. Every scheme for all items tells how much that is.
Expected<void> BudgetStudy::measure_uniform() {
  std::vector<Plan> plans;
  plans.reserve(registry_.scheme_count());
  for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
    plans.push_back(plan(all_of_scheme(scheme)));
  }
  QUADRANT_TRY(const auto found, meter_->measure(plans, {}));
  std::vector<double> once(registry_.scheme_count(), 0);
  for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
    const std::vector<std::uint32_t> options = all_of_scheme(scheme);
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      sum += figures_[i][options[i]].file_bytes;
      count += options[i] != 0 ? 1 : 0;
    }
    const double together = static_cast<double>(found[scheme].file_bytes) - float_bytes_;
    once[scheme] = count > 1 ? std::max(0.0, (sum - together) / (count - 1)) : 0;
  }
  for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
    const std::vector<std::uint32_t> options = all_of_scheme(scheme);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (options[i] != 0) figures_[i][options[i]].file_bytes -= once[scheme];
    }
  }
  for (std::size_t i = 0; i < items_.size(); ++i) estimate_mixed(i);
  return {};
}

// Several schemes in one item: what the table says of each value, and the bytes that they store
// with what nodes and names take under one of the schemes.
void BudgetStudy::estimate_mixed(std::size_t item) {
  const auto& options = items_[item].options;
  std::vector<Option>& figures = figures_[item];
  const auto floats = static_cast<double>(options[0].stored_bytes);
  const double around =
      figures[1].file_bytes + floats - static_cast<double>(options[1].stored_bytes);
  double worst_weight = 0;
  for (std::size_t option = 1; option < options.size(); ++option) {
    Option& known = figures[option];
    if (options[option].label.find('+') == std::string::npos) {
      worst_weight = std::max(worst_weight, known.worst_weight);
      continue;
    }
    known.file_bytes = static_cast<double>(options[option].stored_bytes) - floats + around;
    known.worst_weight = worst_weight;
    for (const PlannedValue& planned : options[option].values) {
      known.error += error_table_.find(planned.value, planned.scheme).value_or(0);
    }
  }
}

std::vector<BudgetPoint> BudgetStudy::frontier() const {
  OptionTable table(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    for (const Option& option : figures_[i]) table[i].push_back({option.file_bytes, option.error});
  }
  std::vector<BudgetPoint> points;
  for (OptionChoice& choice : hull_choices(table)) {
    BudgetPoint point;
    point.file_bytes = static_cast<std::uint64_t>(std::max(0.0, float_bytes_ + choice.cost));
    point.bits = bits(choice.options);
    point.error = choice.loss;
    for (std::size_t i = 0; !points.empty() && i < items_.size(); ++i) {
      const std::uint32_t from = points.back().options[i];
      if (from == choice.options[i]) continue;
      point.change +=
          fmt::format("{}{}: {} -> {}", point.change.empty() ? "" : ", ", items_[i].name,
                      items_[i].options[from].label, items_[i].options[choice.options[i]].label);
    }
    point.options = std::move(choice.options);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace quadrant::inline v0
