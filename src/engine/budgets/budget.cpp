#include "quadrant/engine/budgets/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/budgets/option_search.hpp"

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
  const std::vector<std::vector<std::uint32_t>> floats{
      std::vector<std::uint32_t>(made.items_.size(), 0)};
  QUADRANT_TRY(const auto in_float, made.measure(floats, {}));
  made.in_float_ = in_float.front();
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

// Plans name every value that they quantize, so few of them are there at once.
Expected<std::vector<PlanFigures>> BudgetStudy::measure(
    std::span<const std::vector<std::uint32_t>> choices, const MeterScope& scope) const {
  constexpr std::size_t at_once = 256;
  std::vector<PlanFigures> all;
  all.reserve(choices.size());
  for (std::size_t begin = 0; begin < choices.size(); begin += at_once) {
    std::vector<Plan> plans;
    for (const auto& options : choices.subspan(begin, std::min(at_once, choices.size() - begin))) {
      plans.push_back(plan(options));
    }
    QUADRANT_TRY(const std::vector<PlanFigures> some, meter_->measure(plans, scope));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

double BudgetStudy::stored_bytes(std::span<const std::uint32_t> options) const {
  double bytes = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    bytes += static_cast<double>(items_[i].options[options[i]].stored_bytes);
  }
  return bytes;
}

// What is written may be other than what schemes mean: scales that are no float16 stay float32.
double BudgetStudy::stored_bytes(std::span<const std::uint32_t> options,
                                 const PlanFigures& figures) const {
  if (!figures.tensor_bytes || !in_float_.tensor_bytes) return stored_bytes(options);
  double floats = 0;
  for (const BudgetItem& item : items_) floats += static_cast<double>(item.options[0].stored_bytes);
  return floats + static_cast<double>(*figures.tensor_bytes) -
         static_cast<double>(*in_float_.tensor_bytes);
}

double BudgetStudy::bits_of(double stored_bytes) const {
  double elements = 0;
  for (const BudgetItem& item : items_) elements += static_cast<double>(item.elements);
  return elements > 0 ? 8 * stored_bytes / elements : 0;
}

// Each option of each item without the others. With samples one of each item is measured at the
// outputs, and tells in which ratio to the weights' errors those of the others are; where it has no
// error it tells nothing, and all of the item are measured. Those of one size are measured
// together: their order is that of their names, which must not matter.
Expected<void> BudgetStudy::measure_options() {
  std::vector<Which> first;
  std::vector<Which> others;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::size_t count = items_[i].options.size();
    const std::size_t middle = 1 + (count - 1) / 2;
    for (std::size_t option = 1; option < count; ++option) {
      const bool is_middle =
          items_[i].options[option].stored_bytes == items_[i].options[middle].stored_bytes;
      const bool at_outputs = meter_->has_data() && (options_.measures_all || is_middle);
      (at_outputs ? first : others).push_back({i, option});
    }
  }
  std::vector<double> ratio(items_.size(), meter_->has_data() ? 0 : 1);
  QUADRANT_TRY(const auto figures, measure_alone(first, true));
  for (std::size_t k = 0; k < first.size(); ++k) {
    take_figures(first[k], figures[k], figures[k].output_error);
    if (figures[k].weight_error > 0) {
      double& known = ratio[first[k].item];
      known =
          std::max(known, ErrorTable::finite(figures[k].output_error) / figures[k].weight_error);
    }
  }
  for (const bool at_outputs : {true, false}) {
    std::vector<Which> some;
    std::ranges::copy_if(others, std::back_inserter(some), [&](const Which& which) {
      return at_outputs == !(ratio[which.item] > 0);
    });
    QUADRANT_TRY(const auto more, measure_alone(some, at_outputs));
    for (std::size_t k = 0; k < some.size(); ++k) {
      take_figures(some[k], more[k],
                   at_outputs ? more[k].output_error : more[k].weight_error * ratio[some[k].item]);
    }
  }
  for (std::size_t i = 0; i < items_.size(); ++i) enter_errors(i);
  return {};
}

Expected<std::vector<PlanFigures>> BudgetStudy::measure_alone(std::span<const Which> which,
                                                              bool at_outputs) {
  std::vector<std::vector<std::uint32_t>> choices;
  choices.reserve(which.size());
  for (const auto& [item, option] : which) {
    choices.emplace_back(items_.size(), 0);
    choices.back()[item] = static_cast<std::uint32_t>(option);
  }
  return measure(choices, {.file = true, .outputs = at_outputs, .part = MeterSamples::fitted});
}

void BudgetStudy::take_figures(const Which& which, const PlanFigures& figures, double error) {
  Option& known = figures_[which.item][which.option];
  known.file_bytes = file_bytes(figures);
  known.worst_weight = figures.worst_weight;
  known.error = ErrorTable::finite(error);
  std::vector<std::uint32_t> options(items_.size(), 0);
  options[which.item] = static_cast<std::uint32_t>(which.option);
  const double more = stored_bytes(options, figures) - stored_bytes(options);
  std::uint64_t& stored = items_[which.item].options[which.option].stored_bytes;
  stored = static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(stored) + more));
}

// More than in float: below zero, mostly.
double BudgetStudy::file_bytes(const PlanFigures& figures) const {
  return static_cast<double>(figures.file_bytes) - static_cast<double>(in_float_.file_bytes);
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

// What a file needs once for a scheme (an operator set that has its types, a table of values) is in
// the figures of each item alone. Every scheme for all items tells how much that is.
Expected<void> BudgetStudy::measure_uniform() {
  std::vector<std::vector<std::uint32_t>> uniform;
  uniform.reserve(registry_.scheme_count());
  for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
    uniform.push_back(all_of_scheme(scheme));
  }
  QUADRANT_TRY(uniform_, measure(uniform, {}));
  struct Once {
    double file = 0;
    double stored = 0;
  };
  std::vector<Once> once(registry_.scheme_count());
  for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
    const std::vector<std::uint32_t>& options = uniform[scheme];
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      sum += figures_[i][options[i]].file_bytes;
      count += options[i] != 0 ? 1 : 0;
    }
    if (count < 2) continue;
    const double file = sum - file_bytes(uniform_[scheme]);
    const double stored = stored_bytes(options) - stored_bytes(options, uniform_[scheme]);
    once[scheme] = {std::max(0.0, file / (count - 1)), std::max(0.0, stored / (count - 1))};
  }
  for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
    const std::vector<std::uint32_t>& options = uniform[scheme];
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (options[i] == 0) continue;
      figures_[i][options[i]].file_bytes -= once[scheme].file;
      std::uint64_t& stored = items_[i].options[options[i]].stored_bytes;
      stored -= std::min(stored, static_cast<std::uint64_t>(once[scheme].stored));
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
    if (!options[option].is_mixed) {
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
    const double bytes = static_cast<double>(in_float_.file_bytes) + choice.cost;
    point.file_bytes = static_cast<std::uint64_t>(std::ceil(std::max(0.0, bytes)));
    point.bits = bits_of(stored_bytes(choice.options));
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
