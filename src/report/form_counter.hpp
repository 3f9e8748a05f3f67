// In which forms weights are stored, for any choice of a budget's options.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quadrant/engine/budgets/budget.hpp"
#include "quadrant/report/tables.hpp"

namespace quadrant::inline v0 {

class FormCounter {
 public:
  explicit FormCounter(std::span<const BudgetItem> items);

  /// `options`: one of each item. Of forms that no weight has, nothing; floats come last.
  [[nodiscard]] std::vector<FormCount> operator()(std::span<const std::uint32_t> options) const;

 private:
  using Count = std::pair<std::size_t, std::uint64_t>;  // place in `forms_`, weights

  [[nodiscard]] std::size_t form(std::string_view name);
  [[nodiscard]] std::vector<Count> count(const BudgetItem& item, const BudgetOption& option);

  std::vector<std::string> forms_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::vector<std::vector<Count>>> counts_;  // by item and option
};

/// `int8 3, float 1`
[[nodiscard]] std::string to_string(std::span<const FormCount> forms);

}  // namespace quadrant::inline v0
