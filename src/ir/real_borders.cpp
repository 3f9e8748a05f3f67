#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
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
                     .results = {{name + std::string(ending), std::move(type)}}})};
}

// The type that all who read the input quantize it to; null: there is none.
const TensorType* quantized_by_all(const Graph& graph, NodeId input) {
  const TensorType* common = nullptr;
  for (const Use& use : graph.uses(input)) {
    if (graph.kind(use.user) != ops::Quantize::kind) return nullptr;
    const TensorType& codes = graph.type({use.user});
    if (!codes.uniform()) return nullptr;
    if (common != nullptr && !mean_the_same(common->quantization, codes.quantization)) {
      return nullptr;
    }
    common = &codes;
  }
  return common;
}

// A chain of nodes of one operand each, as far as nobody else reads them.
void erase_unused(Graph& graph, NodeId last) {
  while (graph.uses(last).empty() && !graph.operands(last).empty()) {
    const NodeId before = graph.operands(last)[0].node;
    graph.erase(last);
    last = before;
    if (graph.kind(last) == ops::Input::kind) return;
  }
}

bool is_real(const Graph& graph, Value value) {
  return !value.is_absent() && !are_codes(graph, value) && is_float(graph.type(value).element);
}

}  // namespace

std::vector<LeftAlone> make_borders_coded(Graph& graph) {
  std::vector<LeftAlone> left;
  const std::vector<NodeId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (const NodeId input : inputs) {
    if (!is_real(graph, {input})) continue;
    const TensorType* const found = quantized_by_all(graph, input);
    if (found == nullptr) {
      left.push_back({std::string(graph.value_name({input})),
                      "not all that reads it quantizes it "
                      "alike"});
      continue;
    }
    TensorType codes = *found;
    codes.shape = graph.type({input}).shape;
    graph.set_type({input}, std::move(codes));
    const std::vector<Use> uses(graph.uses(input).begin(), graph.uses(input).end());
    for (const Use& use : uses) {
      graph.replace_uses({use.user}, {input});
      graph.erase(use.user);
    }
  }
  const std::vector<NodeId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (const NodeId output : outputs) {
    Value real = graph.operands(output)[0];
    if (!is_real(graph, real)) continue;
    // What only gives a value another name may stand between.
    const Value named = real;
    while (graph.kind(real.node) == ops::Identity::kind) real = graph.operands(real.node)[0];
    if (graph.kind(real.node) != ops::Dequantize::kind) {
      left.push_back({std::string(graph.name(output)), "no dequantize makes it"});
      continue;
    }
    graph.set_operand(output, 0, graph.operands(real.node)[0]);
    erase_unused(graph, named.node);
  }
  return left;
}

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
