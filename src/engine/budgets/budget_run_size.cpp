// The least error within a size.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/budgets/budget_run.hpp"

namespace quadrant::inline v0 {

Expected<bool> BudgetRun::search_within(const OptionTable& table) {
  double correction = 0;
  bool is_found = false;
  constexpr int most_rounds = 6;
  for (int round = 0; round < most_rounds; ++round) {
    auto chosen = choose(table, limit() - correction);
    if (!chosen) return is_found;
    if (round != 0 && *chosen == last_) return is_found;
    last_ = *chosen;
    QUADRANT_TRY(Measured measured, measure_one(std::move(*chosen)));
    correction = taken(measured) - predicted_cost(measured.options);
    if (fits(measured)) {
      if (!has_best_ || error_of(measured) < error_of(best_)) best_ = std::move(measured);
      has_best_ = is_found = true;
      correction_ = correction;
    } else if (round + 2 == most_rounds) {
      // Two choices may take turns that are corrected differently: both, and a little more.
      correction = std::max(correction, correction_) + 64;
    }
  }
  return is_found;
}

Expected<void> BudgetRun::meet_size() {
  const OptionTable table = table_by_error();
  if (budget_.rule == BudgetRule::search) {
    if (const auto found = search_options(table, limit())) bound_ = found->bound;
  }
  QUADRANT_TRY(const bool is_found, search_within(table));
  if (!is_found) QUADRANT_CHECK(take_smallest(table));
  if (budget_.rule != BudgetRule::search) return judge_beside({});
  if (!study_.meter_->has_data()) return fill();
  QUADRANT_TRY(std::vector<Measured> plain, measure_plain(table));
  for (const Measured& one : plain) keep_if_better(one);
  for (int round = 0; round < study_.options_.rounds; ++round) {
    QUADRANT_TRY(const bool is_better, search_around_best());
    if (!is_better) break;
  }
  QUADRANT_CHECK(fill());
  return judge_beside(std::move(plain));
}

Expected<std::vector<BudgetRun::Measured>> BudgetRun::measure_plain(const OptionTable& table) {
  QUADRANT_TRY(std::vector<Measured> plain, measure_uniform());
  if (auto greedy = last_within(hull_choices(table), limit() - correction_)) {
    QUADRANT_TRY(Measured measured, measure_one(*std::move(greedy)));
    plain.push_back(std::move(measured));
  }
  std::erase_if(plain, [this](const Measured& one) { return !fits(one); });
  return plain;
}

Expected<void> BudgetRun::judge_beside(std::vector<Measured> plain) {
  if (!study_.meter_->holds_back() || part_ != MeterSamples::fitted) return {};
  std::vector<Options> choices;
  choices.reserve(plain.size() + 1);
  choices.push_back(best_.options);
  for (const Measured& one : plain) choices.push_back(one.options);
  QUADRANT_TRY(const std::vector<double> errors, judge(choices));
  const auto least = std::ranges::min_element(errors);  // of equals the first, what was searched
  judged_ = *least;
  judged_plans_ = choices.size();
  if (least == errors.begin()) return {};
  best_ = std::move(plain[static_cast<std::size_t>(least - errors.begin()) - 1]);
  return fill_judged();
}

Expected<void> BudgetRun::fill_judged() {
  const Measured plain = best_;
  QUADRANT_CHECK(fill());
  if (best_.options == plain.options) return {};
  QUADRANT_TRY(const std::vector<double> errors, judge({best_.options}));
  ++judged_plans_;
  if (judged_ && errors.front() < *judged_) {
    judged_ = errors.front();
    return {};
  }
  best_ = plain;
  refused_ = upgrades_within_limit().size();
  return {};
}

Expected<void> BudgetRun::take_smallest(const OptionTable& table) {
  const auto smallest = [&]() -> Options {
    if (budget_.rule == BudgetRule::uniform || budget_.rule == BudgetRule::lowest_error) {
      const auto all = uniform_choices();
      if (!all.empty()) {
        return std::ranges::min(all, {}, [&](const Options& o) { return predicted_cost(o); });
      }
    }
    return to_options(hull_choices(table).front());
  }();
  QUADRANT_TRY(best_, measure_one(smallest));
  has_best_ = true;
  if (fits(best_)) return {};
  // What weights of one form share, a table of values, was counted for each of them.
  for (Measured& uniform : counted_uniform()) {
    if (taken(uniform) >= taken(best_)) continue;
    QUADRANT_TRY(best_, measure_one(std::move(uniform.options)));
  }
  if (fits(best_)) return {};
  return fail(
      ErrorCode::impossible,
      fmt::format("{} cannot be met{}: the least possible is {}", print_limit(),
                  budget_.weight_error ? " by forms that keep each weight's errors so small" : "",
                  print_size(best_)));
}

void BudgetRun::keep_if_better(Measured measured) {
  if (fits(measured) && error_of(measured) < error_of(best_)) best_ = std::move(measured);
}

Expected<void> BudgetRun::keep_best_of(const std::vector<Measured>& several) {
  constexpr std::size_t most = 8;
  std::vector<const Measured*> better;
  for (const Measured& one : several) {
    if (fits(one) && error_of(one) < error_of(best_)) better.push_back(&one);
  }
  std::ranges::stable_sort(better, {}, [this](const Measured* one) { return error_of(*one); });
  better.resize(std::min(better.size(), most));
  for (const Measured* one : better) {
    QUADRANT_TRY(Measured counted, measure_one(one->options));
    if (!fits(counted)) continue;
    keep_if_better(std::move(counted));
    break;
  }
  return {};
}

Expected<bool> BudgetRun::search_around_best() {
  const Measured start = best_;
  QUADRANT_TRY(const Around around, measure_around(start));
  QUADRANT_CHECK(keep_best_of(around.measured));
  const auto figures = [&](std::size_t i, const Measured& one, double caution) {
    return OptionFigures{cost(i, one.options[i]), more_error(one, start, caution)};
  };
  const auto search = [&](const OptionTable& table) -> Expected<bool> {
    const Options reached = best_.options;
    QUADRANT_CHECK(search_within(table));
    return best_.options != reached;
  };
  QUADRANT_CHECK(search_changes(start, around, figures, search));
  return error_of(best_) < error_of(start) * (1 - 1e-6);
}

std::vector<BudgetRun::Options> BudgetRun::upgrades_within_limit() const {
  const double room = limit() - taken(best_);
  std::vector<Options> upgrades;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::uint32_t now = best_.options[i];
    for (const std::uint32_t option : allowed_[i]) {
      const bool is_upgrade = error(i, option) < error(i, now) && cost(i, option) > cost(i, now);
      if (!is_upgrade || cost(i, option) - cost(i, now) > room) continue;
      upgrades.push_back(best_.options);
      upgrades.back()[i] = option;
    }
  }
  return upgrades;
}

Expected<void> BudgetRun::fill() {
  const std::size_t most_rounds = 4 + 2 * size();
  for (std::size_t round = 0; round < most_rounds; ++round) {
    std::vector<Options> upgrades = upgrades_within_limit();
    refused_ = 0;
    if (upgrades.empty()) return {};
    QUADRANT_TRY(const std::vector<Measured> measured, measure(std::move(upgrades), false));
    const Measured before = best_;
    QUADRANT_CHECK(keep_best_of(measured));
    if (best_.options != before.options) continue;
    refused_ = static_cast<std::size_t>(std::ranges::count_if(
        measured, [&](const Measured& one) { return error_of(one) >= error_of(best_); }));
    return {};
  }
  return {};
}

}  // namespace quadrant::inline v0
