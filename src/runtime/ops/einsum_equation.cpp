#include "runtime/ops/einsum_equation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

constexpr std::string_view ellipsis = "...";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads one term; its ellipsis, if it has one, stands for `ellipsis_axes` axes.
Expected<std::vector<Label>> parse_term(std::string_view term, std::int64_t ellipsis_axes) {
  std::vector<Label> labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      labels.push_back(term[i]);
    } else if (term.substr(i).starts_with(ellipsis) && term.find(ellipsis) == i) {
      for (Label axis = ellipsis_axes; axis > 0; --axis) {
        labels.push_back(first_ellipsis_label + axis - 1);
      }
      i += ellipsis.size() - 1;
    } else {
      return KernelCall::refuse(fmt::format("'{}' is no term of an equation", term));
    }
  }
  return labels;
}

Expected<std::vector<Label>> parse_operand(std::string_view term, const Tensor& operand) {
  const bool open = term.find(ellipsis) != std::string_view::npos;
  const auto letters = static_cast<std::int64_t>(term.size()) -
                       (open ? static_cast<std::int64_t>(ellipsis.size()) : 0);
  if (operand && (open ? letters <= operand.rank() : letters == operand.rank())) {
    return parse_term(term, operand.rank() - letters);
  }
  return KernelCall::refuse(fmt::format("'{}' does not describe an operand of shape [{}]", term,
                                        to_string(operand.shape())));
}

// Of all operands, sorted.
std::vector<Label> labels_of(const EinsumEquation& equation) {
  std::vector<Label> all;
  for (const std::vector<Label>& operand : equation.operands) {
    all.insert(all.end(), operand.begin(), operand.end());
  }
  std::ranges::sort(all);
  return all;
}

std::vector<Label> implicit_result(const std::vector<Label>& all) {
  std::vector<Label> result;
  const auto first_ellipsis = std::ranges::lower_bound(all, first_ellipsis_label);
  std::unique_copy(first_ellipsis, all.end(), std::back_inserter(result));
  std::ranges::reverse(result);
  for (auto label = all.begin(); label != first_ellipsis; ++label) {
    const bool before = label != all.begin() && *(label - 1) == *label;
    const bool after = label + 1 != all.end() && *(label + 1) == *label;
    if (!before && !after) result.push_back(*label);
  }
  return result;
}

Expected<std::vector<Label>> explicit_result(std::string_view term, const std::vector<Label>& all) {
  const Label last = all.empty() ? 0 : all.back();
  QUADRANT_TRY(std::vector<Label> result,
               parse_term(term, std::max<Label>(last - first_ellipsis_label + 1, 0)));
  std::vector<Label> sorted = result;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    return KernelCall::refuse(fmt::format("the result '{}' has a label twice", term));
  }
  if (!std::ranges::includes(all, sorted)) {
    return KernelCall::refuse(fmt::format("the result '{}' has a label that no operand has", term));
  }
  return result;
}

}  // namespace

Expected<EinsumEquation> parse_einsum(std::string_view text, std::span<const Tensor> operands) {
  std::string compact(text);
  std::erase(compact, ' ');
  const std::string_view whole = compact;
  const std::size_t arrow = whole.find("->");
  EinsumEquation equation;
  std::string_view terms = whole.substr(0, arrow);
  for (const Tensor& operand : operands) {
    const std::size_t end = terms.find(',');
    if ((end == std::string_view::npos) != (&operand == &operands.back())) {
      return KernelCall::refuse(
          fmt::format("the equation '{}' for {} operands", text, operands.size()));
    }
    QUADRANT_TRY(auto labels, parse_operand(terms.substr(0, end), operand));
    equation.operands.push_back(std::move(labels));
    terms.remove_prefix(std::min(terms.size(), end == std::string_view::npos ? end : end + 1));
  }
  const std::vector<Label> all = labels_of(equation);
  if (arrow == std::string_view::npos) {
    equation.result = implicit_result(all);
  } else {
    QUADRANT_TRY(equation.result, explicit_result(whole.substr(arrow + 2), all));
  }
  return equation;
}

}  // namespace quadrant::inline v0::interpreted
