#include "pipeline/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "quadrant/report/tables.hpp"
#include "report/objective.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {
namespace {

// The constant that is the value; null for computed ones.
const Constant* contents_of(const Graph& graph, const std::string& value) {
  const Value found = graph.find_value(value);
  return found.is_absent() ? nullptr : graph.constant(found.node);
}

bool has_values(const Plan& plan, std::string_view scheme) {
  return std::ranges::find(plan.values, scheme, &PlannedValue::scheme) != plan.values.end();
}

}  // namespace

PlanTotals totals_of(const Plan& plan, const Graph& graph) {
  PlanTotals totals;
  for (const PlannedValue& planned : plan.values) {
    if (const Constant* constant = contents_of(graph, planned.value)) {
      ++totals.stored;
      totals.bytes += constant->byte_size();
    }
  }
  return totals;
}

std::string print_decision(const Plan& plan, const Graph& graph, std::optional<Gain> bound,
                           const GainModel& gains) {
  using enum Table::Align;
  const PlanTotals totals = totals_of(plan, graph);
  std::string text;
  if (!plan.values.empty()) {
    // Where several schemes run, forms of two may print alike.
    const bool is_mix = plan.schemes.size() > 1;
    Table table({{"value"}, {"constraint"}, {"bytes", right}, {"gain", right}});
    for (const PlannedValue& planned : plan.values) {
      const Constant* constant = contents_of(graph, planned.value);
      table.add({planned.value,
                 is_mix ? planned.scheme + ' ' + planned.constraint : planned.constraint,
                 constant != nullptr ? format_bytes(constant->byte_size()) : "-",
                 fmt::to_string(planned.gain.amount())});
    }
    text = table.print() + '\n';
  }
  Table table({{""}, {""}});
  std::vector<std::string_view> unused;
  for (const PlannedScheme& scheme : plan.schemes) {
    if (plan.schemes.size() == 1 || has_values(plan, scheme.name)) {
      table.add({"scheme", fmt::format("{} ({})", scheme.name, scheme.options)});
    } else {
      unused.push_back(scheme.name);
    }
  }
  if (!unused.empty()) {
    table.add({"unused", fmt::to_string(fmt::join(unused, ", "))});
  }
  table.add({"to quantize", fmt::to_string(plan.values.size())});
  table.add({"of these stored",
             fmt::format("{}, {} in float", totals.stored, format_bytes(totals.bytes))});
  table.add({"conversions", fmt::to_string(plan.conversions.size())});
  table.add({"objective", describe_objective(plan.objective, bound, gains.unit())});
  if (const auto in_float = gains.in_float(graph)) {
    table.add({"predicted", fmt::format("{} {} in float, {} quantized", in_float->amount(),
                                        gains.unit(), (*in_float - plan.objective).amount())});
  }
  return text + table.print();
}

}  // namespace quadrant::inline v0
