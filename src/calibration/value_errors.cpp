#include "calibration/value_errors.hpp"

#include <limits>

namespace quadrant::inline v0 {
namespace {

std::optional<double> worst_before(const ValueErrors& errors, const GraphView& first, Value value,
                                   int steps) {
  std::optional<double> worst;
  if (value.is_absent() || steps == 0) return worst;
  for (const Value operand : first.operands(value.node)) {
    if (operand.is_absent() || first.constant(operand.node) != nullptr) continue;
    auto own = errors.sqnr_db(first.value_name(operand));
    if (!own) own = worst_before(errors, first, operand, steps - 1);
    if (own && (!worst || *own < *worst)) worst = own;
  }
  return worst;
}

}  // namespace

Expected<Comparison> compare_inner_values(const Graph& first, const Graph& second,
                                          const Runtime& runtime, const DataSet& data,
                                          CompareOptions options) {
  options.layers = true;
  auto compared = compare(first, second, runtime, data, options);
  if (!compared && compared.error().code == ErrorCode::impossible) {
    options.layers = false;
    compared = compare(first, second, runtime, data, options);
  }
  return compared;
}

ValueErrors::ValueErrors(const Comparison& comparison) {
  for (const auto* const list : {&comparison.outputs, &comparison.layers}) {
    for (const ValueAgreement& value : *list) values_.emplace(value.name, value.agreement);
  }
}

std::optional<double> ValueErrors::sqnr_db(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  const Agreement& agreement = found->second;
  return agreement.non_finite > 0 ? -std::numeric_limits<double>::infinity() : agreement.sqnr_db();
}

std::optional<double> ValueErrors::sqnr_db_before(const GraphView& first, Value value) const {
  constexpr int most_steps = 4;
  return worst_before(*this, first, value, most_steps);
}

}  // namespace quadrant::inline v0
