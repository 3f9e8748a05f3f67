#include "pipeline/float_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "quadrant/ir/ops/elementwise.hpp"
#include "quadrant/ir/products.hpp"
#include "quadrant/pipeline/sensitivity_study.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {
namespace {

// The operand whose small values decide the result; empty: of another operation.
std::optional<std::size_t> steep_operand(std::string_view kind) {
  constexpr std::array<std::string_view, 5> of_first{
      ops::Log::kind, ops::Exp::kind, ops::Reciprocal::kind, ops::Sqrt::kind, ops::Pow::kind};
  if (kind == ops::Div::kind) return 1;
  return std::ranges::find(of_first, kind) == of_first.end() ? std::nullopt
                                                             : std::optional<std::size_t>(0);
}

// The values in codes nearest in front of `value`: itself, or behind no product.
std::vector<Value> coded_in_front(const Graph& graph, const Selection& selection, Value value) {
  std::vector<Value> found;
  std::unordered_set<Value> seen;
  std::vector<Value> next{value};
  while (!next.empty()) {
    const Value at = next.back();
    next.pop_back();
    if (at.is_absent() || graph.constant(at.node) != nullptr || !seen.insert(at).second) continue;
    if (selection.is_selected(at)) {
      found.push_back(at);
    } else if (find_product(graph.ref(at.node)) == nullptr) {
      const auto operands = graph.operands(at.node);
      next.insert(next.end(), operands.begin(), operands.end());
    }
  }
  return found;
}

// Several are named with ` + ` between; a name may hold that itself.
std::vector<std::string> names_in(const Graph& graph, std::string_view layer) {
  std::vector<std::string> names;
  std::string name;
  while (true) {
    const std::size_t end = std::min(layer.find(" + "), layer.size());
    name += layer.substr(0, end);
    const bool is_whole = !graph.find_value(name).is_absent();
    if (is_whole) names.push_back(std::exchange(name, {}));
    if (end == layer.size()) return name.empty() ? names : std::vector<std::string>();
    if (!is_whole) name += " + ";
    layer.remove_prefix(end + 3);
  }
}

}  // namespace

Expected<std::vector<FloatPart>> steep_values(PreparedRun& run) {
  std::vector<FloatPart> parts;
  while (true) {
    QUADRANT_TRY(const Analysis analysis, run.decide());
    const std::size_t before = parts.size();
    for (const NodeId node : analysis.order) {
      const auto operand = steep_operand(run.graph.kind(node));
      if (!operand || *operand >= run.graph.operands(node).size()) continue;
      const Value read = run.graph.operands(node)[*operand];
      for (const Value value : coded_in_front(run.graph, analysis.selection, read)) {
        const std::string reason = fmt::format("in front of {}", run.graph.kind(node));
        run.vetoes.try_emplace(value.node, reason);
        if (!run.value_vetoes.try_emplace(value, reason).second) continue;
        parts.push_back({std::string(run.graph.value_name(value)), reason});
      }
    }
    if (parts.size() == before) return parts;
  }
}

Expected<std::vector<CostlyWeights>> costly_weights(PreparedRun& run, const DataSet& samples) {
  const Interpreter interpreter({}, run.context.run_memory);
  QUADRANT_TRY(const std::vector<LayerSensitivity> study,
               study_sensitivity(run, interpreter, samples));
  std::vector<CostlyWeights> costly;
  for (const LayerSensitivity& layer : study) {
    const ValueAgreement* const worst = layer.worst();
    if (worst == nullptr) continue;
    CostlyWeights weights{.parts = {}, .alone = worst->agreement};
    for (std::string& name : names_in(run.graph, layer.layer)) {
      weights.parts.push_back(
          {std::move(name), fmt::format("alone it leaves {:.1f} dB", weights.alone.sqnr_db())});
    }
    if (!weights.parts.empty()) costly.push_back(std::move(weights));
  }
  return costly;
}

}  // namespace quadrant::inline v0
