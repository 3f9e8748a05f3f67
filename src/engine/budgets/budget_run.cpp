#include "engine/budgets/budget_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/decibels.hpp"

namespace quadrant::inline v0 {

Expected<BudgetOutcome> BudgetRun::run() {
  QUADRANT_CHECK(check());
  find_allowed();
  has_size_ = budget_.file_bytes.has_value() || budget_.bits.has_value();
  // A limit of the error is one on all samples.
  if (has_size_ && !budget_.error) part_ = MeterSamples::fitted;
  if (size() == 0) {
    QUADRANT_CHECK(meet_in_float());
  } else if (has_size_) {
    QUADRANT_CHECK(meet_size());
    if (budget_.error && !holds(best_, *budget_.error)) {
      return fail(
          ErrorCode::impossible,
          fmt::format("within {} the least error that was found is {:.3g} ({:.2f} dB), and it "
                      "should be {:.3g} ({:.2f} dB): give more bytes, or allow more error",
                      print_limit(), error_of(best_), decibels_of(error_of(best_)), *budget_.error,
                      decibels_of(*budget_.error)));
    }
  } else {
    QUADRANT_CHECK(meet_error());
  }
  return finish();
}

Expected<void> BudgetRun::check() const {
  if (budget_.file_bytes && budget_.bits) {
    return fail(ErrorCode::usage, "a size and bits are two budgets for the same: give one");
  }
  if (!budget_.file_bytes && !budget_.bits && !budget_.error && !budget_.weight_error) {
    return fail(ErrorCode::usage, "there is no budget to meet");
  }
  for (const auto& limit : {budget_.bits, budget_.error, budget_.weight_error}) {
    if (limit && !(*limit > 0)) {
      return fail(ErrorCode::usage, "a budget is a number above zero");
    }
  }
  return {};
}

void BudgetRun::find_allowed() {
  allowed_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::uint32_t option = 0; option < study_.figures_[i].size(); ++option) {
      const double error = study_.figures_[i][option].worst_weight;
      if (!budget_.weight_error || error <= *budget_.weight_error) allowed_[i].push_back(option);
    }
  }
}

double BudgetRun::cost(std::size_t item, std::uint32_t option) const {
  if (budget_.bits) return static_cast<double>(study_.items_[item].options[option].stored_bytes);
  return study_.figures_[item][option].file_bytes;
}

double BudgetRun::limit() const {
  if (budget_.file_bytes) return static_cast<double>(*budget_.file_bytes) - float_bytes();
  double elements = 0;
  for (const BudgetItem& item : study_.items_) elements += static_cast<double>(item.elements);
  return budget_.bits.value_or(0) * elements / 8;
}

double BudgetRun::float_bytes() const { return static_cast<double>(study_.in_float_.file_bytes); }

double BudgetRun::taken(const Measured& measured) const {
  if (budget_.file_bytes) return study_.file_bytes(measured.figures);
  const bool is_counted = measured.figures.tensor_bytes.has_value();
  return study_.stored_bytes(measured.options, measured.figures) + (is_counted ? 0 : correction_);
}

double BudgetRun::predicted_cost(const Options& options) const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += cost(i, options[i]);
  return sum;
}

double BudgetRun::file_cost(const Options& options) const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += study_.figures_[i][options[i]].file_bytes;
  return sum;
}

double BudgetRun::error_of(const Measured& measured) const {
  return ErrorTable::finite(study_.meter_->has_data() ? measured.figures.output_error
                                                      : measured.figures.weight_error);
}

double BudgetRun::error(std::size_t item, std::uint32_t option) const {
  return study_.figures_[item][option].error;
}

bool BudgetRun::holds(const Measured& measured, double wanted) const {
  constexpr double rounding = 1e-12;
  return error_of(measured) <= wanted * (1 + rounding);
}

std::string BudgetRun::print_limit() const {
  return budget_.file_bytes ? fmt::format("{} bytes", *budget_.file_bytes)
                            : fmt::format("{} bits", budget_.bits.value_or(0));
}

std::string BudgetRun::print_size(const Measured& measured) const {
  const double bits = std::ceil(1000 * bits_of(measured) - 1e-9) / 1000;
  const std::uint64_t bytes = measured.figures.file_bytes;
  return budget_.bits ? fmt::format("{:.3f} bits for each weight, {} bytes in all", bits, bytes)
                      : fmt::format("{} bytes, {:.3f} bits for each weight", bytes, bits);
}

double BudgetRun::bits_of(const Measured& measured) const {
  return study_.bits_of(study_.stored_bytes(measured.options, measured.figures));
}

Expected<std::vector<BudgetRun::Measured>> BudgetRun::measure(std::vector<Options> choices,
                                                              bool counts_bytes) {
  const MeterScope scope{.file = counts_bytes, .outputs = true, .part = part_};
  QUADRANT_TRY(const auto figures, study_.measure(choices, scope));
  plans_measured_ += choices.size();
  std::vector<Measured> measured;
  measured.reserve(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    measured.push_back({std::move(choices[i]), figures[i]});
    if (counts_bytes) continue;
    const double bytes = float_bytes() + correction_ + file_cost(measured.back().options);
    measured.back().figures.file_bytes = static_cast<std::uint64_t>(std::max(0.0, bytes));
  }
  return measured;
}

Expected<BudgetRun::Measured> BudgetRun::measure_one(Options options) {
  std::vector<Options> choices;
  choices.push_back(std::move(options));
  QUADRANT_TRY(std::vector<Measured> one, measure(std::move(choices)));
  return std::move(one.front());
}

Expected<std::vector<double>> BudgetRun::judge(const std::vector<Options>& choices) const {
  const MeterScope scope{.file = false, .outputs = true, .part = MeterSamples::held_back};
  QUADRANT_TRY(const auto figures, study_.measure(choices, scope));
  std::vector<double> errors;
  errors.reserve(figures.size());
  for (const PlanFigures& one : figures) {
    errors.push_back(ErrorTable::finite(one.output_error));
  }
  return errors;
}

Expected<void> BudgetRun::meet_in_float() {
  QUADRANT_TRY(best_, measure_one({}));
  has_size_ = budget_.file_bytes.has_value();
  if (!has_size_ || fits(best_)) return {};
  return fail(ErrorCode::impossible,
              fmt::format("{} cannot be met: nothing here can be quantized, and in floats there "
                          "are {} bytes",
                          print_limit(), best_.figures.file_bytes));
}

Expected<BudgetOutcome> BudgetRun::finish() {
  BudgetOutcome outcome;
  outcome.judged = judged_;
  outcome.judged_plans = judged_plans_;
  if (part_ != MeterSamples::all && study_.meter_->holds_back()) {
    part_ = MeterSamples::all;
    QUADRANT_TRY(best_, measure_one(std::move(best_.options)));
  }
  outcome.plan = study_.plan(best_.options);
  outcome.bits = bits_of(best_);
  outcome.predicted = predicted_error(best_.options);
  if (has_size_) {
    if (budget_.rule == BudgetRule::search) outcome.bound = bound_;
    const double whole = budget_.file_bytes ? static_cast<double>(*budget_.file_bytes) : limit();
    outcome.unused = (limit() - taken(best_)) / whole;
    outcome.refused_upgrades = refused_;
  }
  outcome.figures = best_.figures;
  outcome.options = std::move(best_.options);
  outcome.plans_measured = plans_measured_;
  return outcome;
}

Expected<BudgetOutcome> BudgetStudy::meet(const Budget& budget) const {
  return BudgetRun(*this, budget).run();
}

}  // namespace quadrant::inline v0
