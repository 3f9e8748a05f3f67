#include "pipeline/float_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ir/steep_operand.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {
namespace {

// Each decides on the whole graph, for what takes the place of what became float.
constexpr int most_rounds = 16;

// The values in codes nearest in front of `value`: itself, or behind no product. Those that were
// seen before are passed over: there may be as many steep operations as values in front of them.
std::vector<Value> coded_in_front(const Graph& graph, const Selection& selection, Value value,
                                  std::unordered_set<Value>& seen) {
  std::vector<Value> found;
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

// By its own name, or that of what it makes.
std::string name_of(const Graph& graph, NodeId node) {
  const std::string_view own = graph.name(node);
  return std::string(own.empty() ? graph.value_name({node}) : own);
}

}  // namespace

Expected<std::vector<FloatPart>> steep_values(PreparedRun& run) {
  std::vector<FloatPart> parts;
  for (int round = 0; round < most_rounds; ++round) {
    QUADRANT_TRY(const Analysis analysis, run.decide());
    std::unordered_set<Value> seen;
    const std::size_t before = parts.size();
    for (const NodeId node : analysis.order) {
      const auto operand = steep_operand(run.graph.kind(node));
      if (!operand || *operand >= run.graph.operands(node).size()) continue;
      const Value read = run.graph.operands(node)[*operand];
      for (const Value value : coded_in_front(run.graph, analysis.selection, read, seen)) {
        const std::string reason = fmt::format("in front of {}", run.graph.kind(node));
        run.vetoes.try_emplace(value.node, reason);
        if (!run.value_vetoes.try_emplace(value, reason).second) continue;
        parts.push_back({std::string(run.graph.value_name(value)), reason});
      }
    }
    if (parts.size() == before) break;
  }
  return parts;
}

Expected<std::vector<CostlyProduct>> costly_products(PreparedRun& run, const DataSet& samples) {
  QUADRANT_CHECK(hold_constants(run.graph));
  QUADRANT_TRY(const Analysis analysis, run.decide());
  std::vector<NodeId> products;
  std::vector<SensitivityLayer> layers;
  for (const NodeId node : analysis.order) {
    if (find_product(run.graph.ref(node)) == nullptr) continue;
    if (!analysis.selection.is_selected({node})) continue;
    products.push_back(node);
    layers.push_back({name_of(run.graph, node)});
  }
  const auto alone = [&](std::size_t product) -> Expected<Graph> {
    QuantizeOptions options = run.engine_options();
    options.executor = nullptr;  // products run at the same time
    options.sink = nullptr;
    for (const NodeId other : products) {
      if (other != products[product]) options.vetoes[other] = "another product is measured";
    }
    QUADRANT_TRY(QuantizeResult result, quantize(run.graph, run.registry, options));
    return std::move(result.graph);
  };
  const RunContext& context = run.context;
  const Interpreter interpreter({}, context.run_memory);
  QUADRANT_TRY(std::vector<LayerSensitivity> study,
               measure_sensitivity(
                   run.graph, layers, alone, interpreter, samples,
                   {.executor = context.executor, .sink = context.sink, .ranks = context.ranks},
                   [&] { return context.check_stop(); }));
  std::ranges::stable_sort(
      study, [](const LayerSensitivity& a, const LayerSensitivity& b) { return worse_than(a, b); });
  std::vector<CostlyProduct> costly;
  for (LayerSensitivity& layer : study) {
    const ValueAgreement* const worst = layer.worst();
    if (worst == nullptr) continue;
    const Agreement& agreement = worst->agreement;
    std::string reason = fmt::format("alone it leaves {:.1f} dB", agreement.sqnr_db());
    costly.push_back({{std::move(layer.layer), std::move(reason)}, agreement});
  }
  return costly;
}

}  // namespace quadrant::inline v0
