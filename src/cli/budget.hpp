// --target-size and its like: what a budget makes of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "quadrant/engine/budget.hpp"
#include "quadrant/io/onnx.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace quadrant::cli {

struct BudgetOptions {
  std::string target_size;  ///< bytes, with a unit; empty: none
  std::optional<double> target_bits{};
  std::optional<double> min_sqnr{};
  std::optional<double> min_weight_sqnr{};
  std::optional<double> max_error{};
  std::string rule = "search";
  std::string sensitivity = "scaled";
  int rounds = 3;
  DataOptions data;

  [[nodiscard]] bool has_data() const noexcept { return !data.path.empty() || data.random != 0; }
  [[nodiscard]] bool is_given() const noexcept {
    return !target_size.empty() || target_bits || min_sqnr || min_weight_sqnr || max_error;
  }
};

/// Adds the options that say how to measure: --sensitivity, and those of DataOptions.
void declare_measuring(CLI::App& command, BudgetOptions& options);
/// Adds the budgets, and those.
void declare(CLI::App& command, BudgetOptions& options);
/// `usage` for an option that says how to meet a budget where there is none.
[[nodiscard]] Expected<void> check_no_budget(const BudgetOptions& options);
/// The budget; `usage` for options that contradict one another, before the long work.
[[nodiscard]] Expected<Budget> read_budget(const BudgetOptions& options,
                                           const DecisionOptions& decision);

/// Bytes in `text`: `20MB` (10^6), `512KiB` (2^10), `1000`. `usage` for anything else.
[[nodiscard]] Expected<std::uint64_t> parse_bytes(const std::string& text);

/// What is decided on under budgets: the model with the variants of its weights, measured.
class BudgetSubject {
 public:
  /// `subject` gets the variants as its registry. `format`, `path`: how, and where, the result
  /// would be written.
  [[nodiscard]] static Expected<std::unique_ptr<BudgetSubject>> make(
      const BudgetOptions& options, NonFinitePolicy non_finite, const OnnxWriteOptions& format,
      const std::string& path, Subject& subject, Console& console);
  ~BudgetSubject();
  BudgetSubject(const BudgetSubject&) = delete;
  BudgetSubject& operator=(const BudgetSubject&) = delete;

  [[nodiscard]] const BudgetStudy& study() const noexcept;
  [[nodiscard]] bool has_data() const noexcept;

 private:
  struct Parts;
  explicit BudgetSubject(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// What came of a budget, in lines for people and for programs.
[[nodiscard]] std::string to_string(const BudgetOutcome& outcome, const BudgetOptions& options);
[[nodiscard]] Json to_json(const BudgetOutcome& outcome, const BudgetStudy& study);
[[nodiscard]] double decibels_of(double error) noexcept;

}  // namespace quadrant::cli
