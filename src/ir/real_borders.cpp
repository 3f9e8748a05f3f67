#include "quadrant/ir/real_borders.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

bool are_codes(const GraphView& graph, Value value) {
  return !value.is_absent() && graph.type(value).is_quantized();
}

Value add_conversion(Graph& graph, std::string_view kind, const std::string& name,
                     std::string_view ending, TensorType type) {
  return {graph.add({.kind = std::string(kind),
                     .name = name + "_" + std::string(kind),
                     .operands = {Value{}},
                     .results = {{name + std::string(ending), std::move(type)}},
                     .attributes = {},
                     .constant = {}})};
}

}  // namespace

bool has_coded_borders(const GraphView& graph) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    if (graph.kind(node) == ops::Input::kind && are_codes(graph, {node})) return true;
    if (graph.kind(node) == ops::Output::kind && are_codes(graph, graph.operands(node)[0])) {
      return true;
    }
  }
  return false;
}

void make_borders_real(Graph& graph) {
  const std::vector<NodeId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (const NodeId node : inputs) {
    const Value input{node};
    if (!are_codes(graph, input)) continue;
    const TensorType codes = graph.type(input);
    const std::string name(graph.value_name(input));
    graph.set_type(input, codes.expressed());
    const Value made = add_conversion(graph, ops::Quantize::kind, name, quantized_ending, codes);
    graph.replace_uses(input, made);
    graph.set_operand(made.node, 0, input);
  }
  const std::vector<NodeId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (const NodeId node : outputs) {
    const Value codes = graph.operands(node)[0];
    if (!are_codes(graph, codes)) continue;
    const Value made =
        add_conversion(graph, ops::Dequantize::kind, std::string(graph.value_name(codes)),
                       dequantized_ending, graph.type(codes).expressed());
    graph.set_operand(made.node, 0, codes);
    graph.set_operand(node, 0, made);
  }
}

}  // namespace quadrant::inline v0
