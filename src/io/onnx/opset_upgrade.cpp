#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/file.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/opset_rules.hpp"
#include "ir/regions.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// Whether some attribute holds a graph that is carried. Its operators would have to be converted,
/// too.
bool has_subgraph(const Graph& graph, NodeId node) {
  for (const auto& [name, value] : graph.attributes(node)) {
    const auto* opaque = std::get_if<Opaque>(&value);
    if (!opaque || opaque->format != attribute_format) continue;
    const std::string text = contents(*opaque);
    Message message(text, {0, text.size()});
    while (message.next()) {
      if (message.field() == attribute::g || message.field() == attribute::graphs) return true;
    }
  }
  return false;
}

/// Fills in the type of result 0 where it is not known: some conversions need element types and
/// ranks, and shape inference leaves alone the operators that have no kind of their own.
void fill_in_type(Graph& graph, NodeId node, ResultRule rule) {
  if (graph.result_count(node) == 0 || graph.kind(node) == ops::Constant::kind) return;
  const NodeRef ref = graph.ref(node);
  const TensorType* operand = ref.operand_type(0);
  TensorType type = ref.type();
  switch (rule) {
    case ResultRule::unknown:
      return;
    case ResultRule::like:
      if (operand && !type.shape.is_ranked()) type.shape = operand->shape;
      [[fallthrough]];
    case ResultRule::element:
      if (operand && type.element == ElementType::undefined)
        type.element = operand->expressed().element;
      break;
    case ResultRule::int64:
      type.element = ElementType::int64;
      break;
    case ResultRule::boolean:
      type.element = ElementType::boolean;
      break;
    case ResultRule::cast:
      type.element = element_of(ref.attribute_or<std::int64_t>("to", 0));
      break;
  }
  graph.set_type({node}, std::move(type));
}

void convert_node(Graph& graph, NodeId node, std::int64_t from, std::int64_t target) {
  const std::string_view kind = graph.kind(node);
  if (kind == opaque_initializer_kind || kind == sparse_initializer_kind ||
      kind == regions::input_kind) {
    return;
  }
  const OpName op = op_name_of(graph.ref(node));
  if (op.op_type.empty()) return;  // inputs, outputs, constants, and what is about to be lowered
  if (has_subgraph(graph, node)) impossible(fmt::format("{} has subgraphs", op.op_type));
  if (!in_default_domain(op)) return;
  const OpsetRule* rule = find_opset_rule(op.op_type);
  if (!rule) impossible(fmt::format("{} has no conversion to opset {}", op.op_type, target));
  fill_in_type(graph, node, rule->result);
  for (const OpsetChange& change : {rule->first, rule->second}) {
    if (from < change.opset && change.opset <= target) {
      change.convert(graph, node);
      return;  // the other one is not in the same step
    }
  }
}

void convert_all(Graph& graph, std::int64_t from, std::int64_t target) {
  for (const NodeId node : value_of(topological_order(graph))) {
    const std::string name(label(graph, node));  // of a node that may be gone when it fails
    in_node(name, [&] { convert_node(graph, node, from, target); });
  }
}

}  // namespace

std::string upgrade(Graph& graph, std::int64_t target) {
  if (graph.attributes().find(key::functions)) return "the model has functions";
  Graph attempt = graph;
  try {
    // Step by step: an operator may change in each, and is another node after the first.
    std::int64_t from = opset_version(graph);
    for (const std::int64_t step : {first_step, second_step}) {
      if (from >= step || step > target) continue;
      convert_all(attempt, from, step);
      from = step;
    }
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::impossible) throw;
    return printable(to_string(failure.error));
  }
  graph = std::move(attempt);
  return {};
}

}  // namespace quadrant::inline v0::onnx
