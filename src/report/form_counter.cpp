#include "report/form_counter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view in_float = "float";

}  // namespace

FormCounter::FormCounter(std::span<const BudgetItem> items) {
  for (const BudgetItem& item : items) {
    auto& options = counts_.emplace_back();
    for (const BudgetOption& option : item.options) options.push_back(count(item, option));
  }
}

std::vector<FormCount> FormCounter::operator()(std::span<const std::uint32_t> options) const {
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

std::size_t FormCounter::form(std::string_view name) {
  const auto [known, is_new] = places_.emplace(name, forms_.size());
  if (is_new) forms_.emplace_back(name);
  return known->second;
}

std::vector<FormCounter::Count> FormCounter::count(const BudgetItem& item,
                                                   const BudgetOption& option) {
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

std::string to_string(std::span<const FormCount> forms) {
  std::string text;
  for (const FormCount& count : forms) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.form, count.weights);
  }
  return text;
}

}  // namespace quadrant::inline v0
