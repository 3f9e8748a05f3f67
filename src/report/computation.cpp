#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/ops/places.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/report/summary.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {
namespace {

bool computes_on_codes(NodeRef node, const Selection& selection) {
  if (node.graph->result_count(node.id) != 0) {
    if (node.type().is_quantized() || selection.produced(node.result()) != float_form) return true;
  }
  // What makes no real numbers reads codes alone, or it compares real numbers.
  bool reads_codes = false;
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* const type = node.operand_type(i);
    if (type == nullptr || !(type->is_quantized() || may_be_real(type->element))) continue;
    if (!type->is_quantized() && selection.read(node.id, i) == float_form) return false;
    reads_codes = true;
  }
  return reads_codes;
}

// In words of whoever has a model, not a method.
std::string why_on_reals(NodeRef node, const Analysis& analysis, const std::string& reason) {
  switch (analysis.eligibility.cause(node.id)) {
    case EligibilityCause::no_method:
      return "there is no kernel for it on codes";
    case EligibilityCause::pattern:
      for (const Value operand : node.operands()) {
        if (operand.is_absent() || !may_be_real(node.graph->type(operand).element)) continue;
        if (analysis.eligibility.state(operand) != State::Unquantized) continue;
        return fmt::format("it reads '{}', which is not quantized",
                           node.graph->value_name(operand));
      }
      return reason;
    default:
      return reason;
  }
}

}  // namespace

bool is_computation(NodeRef node) {
  const std::string_view kind = node.kind();
  if (kind == ops::ShapeOf::kind || kind == ops::Size::kind)
    return false;  // no number of it is looked at
  if (kind == ops::Input::kind || kind == ops::Constant::kind || kind == ops::Output::kind ||
      kind == ops::Quantize::kind || kind == ops::Dequantize::kind ||
      kind == ops::StorageCast::kind || kind == ops::Identity::kind) {
    return false;
  }
  const auto is_real = [&](Value value) {
    if (value.is_absent()) return false;
    const TensorType& type = node.graph->type(value);
    return type.is_quantized() || may_be_real(type.element);
  };
  if (std::ranges::any_of(node.operands(), is_real)) return true;
  const std::uint32_t results = node.graph->result_count(node.id);
  for (std::uint32_t i = 0; i < results; ++i) {
    if (is_real(node.result(i))) return true;
  }
  return false;
}

ComputationReport report_computation(const GraphView& graph, const Registry& registry,
                                     const Analysis& analysis) {
  ComputationReport report;
  const std::vector<Explanation> explanations = explain_all(graph, registry, analysis);
  for (std::size_t i = 0; i < analysis.order.size(); ++i) {
    const NodeRef node{&graph, analysis.order[i]};
    if (!is_computation(node)) continue;
    const std::string& reason = explanations[i].reason;
    const bool on_codes = computes_on_codes(node, analysis.selection);
    Computation row{std::string(label(graph, node.id)), std::string(node.kind()), on_codes,
                    on_codes ? reason : why_on_reals(node, analysis, reason)};
    report.on_codes += row.on_codes ? 1 : 0;
    report.operations.push_back(std::move(row));
  }
  for (const Conversion& conversion : analysis.selection.conversions()) {
    const bool is_requantize = conversion.from != float_form && conversion.to != float_form;
    report.requantized += is_requantize ? 1 : 0;
  }
  return report;
}

Table table_of_kinds(const ComputationReport& report) {
  using enum Table::Align;
  struct Counts {
    std::uint64_t codes = 0;
    std::uint64_t reals = 0;
  };
  std::map<std::string, Counts> kinds;
  for (const Computation& row : report.operations) {
    Counts& counts = kinds[row.kind];
    ++(row.on_codes ? counts.codes : counts.reals);
  }
  Table table({{"operation"}, {"on codes", right}, {"in float", right}});
  for (const auto& [kind, counts] : kinds) {
    table.add({kind, fmt::to_string(counts.codes), fmt::to_string(counts.reals)});
  }
  return table;
}

Table table_of_reals(const ComputationReport& report, std::size_t most) {
  Table table({{"in float"}, {"operation"}, {"because"}});
  for (const Computation& row : report.operations) {
    if (row.on_codes) continue;
    if (most-- == 0) break;
    table.add({row.name, row.kind, row.reason});
  }
  return table;
}

Json to_json(const ComputationReport& report) {
  Json operations = Json::array();
  for (const Computation& row : report.operations) {
    operations.push_back({{"name", row.name},
                          {"operation", row.kind},
                          {"on_codes", row.on_codes},
                          {"reason", row.reason}});
  }
  return {{"on_codes", report.on_codes},
          {"requantized", report.requantized},
          {"operations", std::move(operations)}};
}

}  // namespace quadrant::inline v0
