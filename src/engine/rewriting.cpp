#include "quadrant/engine/rewriting.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace quadrant::inline v0 {

void RewriteContext::set_quantized(Value value, std::shared_ptr<const UniformType> type) {
  TensorType changed = graph_->type(value);
  changed.element = type->storage;
  changed.quantization = std::move(type);
  graph_->set_type(value, std::move(changed));
}

namespace {

Expected<void> run_rewriters(const std::vector<NodeId>& order, const Eligibility& eligibility,
                             const Selection& selection, RewriteContext& context) {
  Graph& graph = context.graph();
  for (const NodeId node : order) {
    const QuantizationMethod* method = eligibility.method(node);
    if (method == nullptr) continue;
    bool selected = false;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      selected |= selection.is_selected({node, result});
    }
    if (!selected && method->eligible_state() != State::Consumer) continue;
    QUADRANT_CHECK(method->rewriter(graph.ref(node), context));
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!selection.is_selected(value) || graph.type(value).is_quantized()) continue;
      return fail(
          ErrorCode::impossible,
          fmt::format("method {} was asked to quantize this value and did not", method->name()),
          {.file = {},
           .node = std::string(graph.name(node)),
           .tensor = std::string(graph.value_name(value)),
           .offset = {}});
    }
  }
  return {};
}

// Makes the float form of one quantized value, and hands it to all who read floats.
Expected<void> dequantize_for(const std::vector<Use>& readers, Value value, const Scheme& scheme,
                              RewriteContext& context) {
  Graph& graph = context.graph();
  QUADRANT_TRY(const Value real, scheme.dequantize(value, context));
  const std::string name(graph.value_name(value));
  graph.set_value_name(value, name + "_quantized");
  graph.set_value_name(real, name);
  for (const Use& use : readers) graph.set_operand(use.user, use.operand, real);
  return {};
}

}  // namespace

Expected<Graph> rewrite(Graph graph, const std::vector<NodeId>& order, const Registry& registry,
                        const Eligibility& eligibility, const RequestGraph& requests,
                        const Selection& selection, const PreparedData& prepared) {
  // Who reads what in float is decided on the graph that the phases saw, before anything moves.
  std::vector<std::pair<Value, std::vector<Use>>> conversions;
  for (const NodeId node : order) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!selection.is_selected(value)) continue;
      std::vector<Use> readers = selection.float_uses(graph, requests, value);
      if (!readers.empty()) conversions.emplace_back(value, std::move(readers));
    }
  }

  RewriteContext context(graph, requests, selection, prepared);
  QUADRANT_CHECK(run_rewriters(order, eligibility, selection, context));
  for (const auto& [value, readers] : conversions) {
    QUADRANT_CHECK(dequantize_for(readers, value, registry.scheme(), context));
  }
  return graph;
}

}  // namespace quadrant::inline v0
