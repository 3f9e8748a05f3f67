// The smallest file within an error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/budgets/budget_run.hpp"

namespace quadrant::inline v0 {

Expected<void> BudgetRun::meet_error() {
  if (budget_.rule != BudgetRule::search) {
    return fail(ErrorCode::usage,
                fmt::format("the rule '{}' is for budgets of size", to_string(budget_.rule)));
  }
  // Without a limit of the sum, those of the weights alone.
  const double wanted = budget_.error.value_or(std::numeric_limits<double>::max());
  // In float there is no error: what is allowed can always be had.
  QUADRANT_TRY(best_, measure_one(Options(size(), 0)));
  has_best_ = true;
  QUADRANT_TRY(std::vector<Measured> uniform, measure_uniform());
  for (Measured& one : uniform) keep_if_smaller(std::move(one), wanted);
  const bool is_measured = study_.meter_->has_data() && budget_.error.has_value();
  QUADRANT_CHECK(narrow_down(wanted, is_measured));
  if (!is_measured) return {};
  QUADRANT_CHECK(consider_smaller(wanted));
  for (int round = 0; round < study_.options_.rounds; ++round) {
    QUADRANT_TRY(const bool is_smaller, shrink_around_best(wanted));
    if (!is_smaller) break;
  }
  return {};
}

std::optional<BudgetRun::Options> BudgetRun::smallest_within(double allowed) const {
  const OptionTable table =
      table_of([&](std::size_t i, std::uint32_t option) { return error(i, option); },
               [&](std::size_t i, std::uint32_t option) { return cost(i, option); });
  const auto found = search_options(table, allowed);
  if (!found) return std::nullopt;
  return to_options(found->best);
}

Expected<void> BudgetRun::narrow_down(double wanted, bool is_measured) {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double allowed = wanted;
  constexpr int most_rounds = 12;
  for (int round = 0; round < most_rounds; ++round) {
    auto chosen = smallest_within(allowed);
    if (!chosen) break;
    QUADRANT_TRY(Measured measured, measure_one(std::move(*chosen)));
    if (holds(measured, wanted)) {
      low = std::max(low, allowed);
      keep_if_smaller(std::move(measured), wanted);
    } else {
      high = std::min(high, allowed);
    }
    if (!is_measured) break;
    if (!std::isfinite(high)) {
      allowed *= 1.5;
    } else {
      allowed = low > 0 ? std::sqrt(low * high) : high / 2;
    }
    if (low > 0 && high / low < 1.01) break;
  }
  return {};
}

void BudgetRun::keep_if_smaller(Measured measured, double wanted) {
  const auto size_of = [this](const Measured& one) {
    return std::pair(one.figures.file_bytes, error_of(one));
  };
  if (holds(measured, wanted) && size_of(measured) < size_of(best_)) best_ = std::move(measured);
}

Expected<void> BudgetRun::consider_smaller(double wanted) {
  constexpr std::size_t most = 32;
  std::vector<Options> smaller;
  const double bytes = study_.file_bytes(best_.figures);
  for (const OptionChoice& choice : hull_choices(table_by_error())) {
    Options options = to_options(choice);
    if (file_cost(options) < bytes) smaller.push_back(std::move(options));
  }
  std::vector<Options> some;
  const std::size_t step = smaller.size() / most + 1;
  for (std::size_t i = 0; i < smaller.size(); i += step) some.push_back(std::move(smaller[i]));
  QUADRANT_TRY(std::vector<Measured> measured, measure(std::move(some)));
  for (Measured& one : measured) keep_if_smaller(std::move(one), wanted);
  return {};
}

Expected<bool> BudgetRun::shrink_around_best(double wanted) {
  const Measured start = best_;
  QUADRANT_TRY(const Around around, measure_around(start));
  const Measured* smallest = nullptr;
  for (const Measured& one : around.measured) {
    const bool is_smaller =
        file_cost(one.options) < file_cost(start.options) &&
        (smallest == nullptr || file_cost(one.options) < file_cost(smallest->options));
    if (is_smaller && holds(one, wanted)) smallest = &one;
  }
  if (smallest != nullptr) {
    QUADRANT_TRY(Measured counted, measure_one(smallest->options));
    keep_if_smaller(std::move(counted), wanted);
  }
  const auto figures = [&](std::size_t i, const Measured& one, double caution) {
    return OptionFigures{more_error(one, start, caution), cost(i, one.options[i])};
  };
  const auto search = [&](const OptionTable& table) -> Expected<bool> {
    const auto found = search_options(table, wanted - error_of(start));
    if (!found) return false;
    QUADRANT_TRY(Measured together, measure_one(to_options(found->best)));
    const Options reached = best_.options;
    keep_if_smaller(std::move(together), wanted);
    return best_.options != reached;
  };
  QUADRANT_CHECK(search_changes(start, around, figures, search));
  return best_.figures.file_bytes < start.figures.file_bytes;
}

}  // namespace quadrant::inline v0
