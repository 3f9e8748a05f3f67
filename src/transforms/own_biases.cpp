#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/edits.hpp"
#include "transforms/linear_layer.hpp"

namespace quadrant::inline v0 {
namespace {

// Those whose bias is an operand of their own.
bool holds_bias(std::string_view kind) { return is_linear(kind) && has_bias_operand(kind); }

std::vector<NodeId> nodes_of(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid() && holds_bias(graph.kind(node))) nodes.push_back(node);
  }
  return nodes;
}

Constant zeros(ElementType element, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count * byte_width(element));
  return Constant::from_bytes(element, {count}, std::vector<std::byte>(bytes));
}

}  // namespace

OwnBiasesReport give_own_biases(Graph& graph, const OwnBiasesOptions& options) {
  OwnBiasesReport report;
  for (const NodeId node : nodes_of(graph)) {
    const auto layer = find_layer(graph, node);
    if (!layer || layer->node != layer->bias_node) continue;
    if (layer->has_bias) {
      const Value bias = graph.ref(node).operand(layer->bias_operand);
      if (graph.uses(bias.node).size() < 2) continue;
      const Constant contents = *graph.constant(bias.node);
      set_own_constant(graph, node, layer->bias_operand, contents);
      ++report.copied;
    } else if (options.add_missing) {
      const std::string name(graph.value_name({node}));
      const Value bias =
          graph.add_constant(name + "_bias", zeros(layer->element, layer->layout.outputs()));
      with_operand(graph, node, layer->bias_operand, bias);
      ++report.added;
    }
  }
  return report;
}

}  // namespace quadrant::inline v0
