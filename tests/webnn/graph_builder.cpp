#include "graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/opset.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::webnn {
namespace {

constexpr std::int64_t opset = 21;

void set_opset(Graph& graph) {
  graph.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
  graph.attributes().set(std::string(opset_versions_key), std::vector<std::int64_t>{opset});
}

TensorType type_of(const Tensor& tensor) {
  return {.element = tensor.element(), .shape = tensor.shape(), .quantization = nullptr};
}

/// What one node makes of `operands`, of which the absent are empty.
Expected<Tensors> compute(NodeSpec spec, const Tensors& operands) {
  Graph graph;
  set_opset(graph);
  for (const Tensor& operand : operands) {
    spec.operands.push_back(operand ? graph.add_constant("operand", operand.to_constant())
                                    : Value());
  }
  const auto results = static_cast<std::uint32_t>(spec.results.size());
  const NodeId node = graph.add(std::move(spec));
  std::vector<Value> watched;
  for (std::uint32_t i = 0; i < results; ++i) watched.push_back({node, i});
  QUADRANT_TRY(const auto executor, Interpreter().load(graph, watched));
  return run_model(*executor, {}, watched.size());
}

}  // namespace

GraphBuilder::GraphBuilder(std::string prefix) : prefix_(std::move(prefix)) { set_opset(graph_); }

Value GraphBuilder::add_input(const std::string& name, Tensor tensor) {
  const Value value = graph_.add_input(name, type_of(tensor));
  tensors_.emplace(value, std::move(tensor));
  return value;
}

Value GraphBuilder::add_constant(const std::string& name, Tensor tensor) {
  const Value value = graph_.add_constant(name, tensor.to_constant());
  tensors_.emplace(value, std::move(tensor));
  return value;
}

Value GraphBuilder::integers(Integers values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return add_constant(prefix_ + "integers",
                      Tensor::from_values<std::int64_t>(ElementType::int64, shape, values));
}

Value GraphBuilder::integer(std::int64_t value) {
  return add_constant(prefix_ + "integer", Tensor::from_values<std::int64_t>(
                                               ElementType::int64, Shape::scalar(), {{value}}));
}

Expected<Value> GraphBuilder::number(ElementType element, double value) {
  const auto real = static_cast<float>(value);
  const Value number =
      add_constant(prefix_ + "number",
                   Tensor::from_values<float>(ElementType::float32, Shape::scalar(), {{real}}));
  return element == ElementType::float32 ? number : cast(number, element);
}

Expected<std::vector<Value>> GraphBuilder::add_all(std::string_view kind,
                                                   std::vector<Value> operands,
                                                   Attributes attributes, std::size_t results) {
  Tensors values;
  for (const Value operand : operands) {
    values.push_back(operand.is_absent() ? Tensor() : tensor(operand));
  }
  NodeSpec spec{.kind = std::string(kind),
                .name = label_,
                .results = std::vector<ResultSpec>(results),
                .attributes = std::move(attributes)};
  QUADRANT_TRY(Tensors computed, compute(spec, values));
  spec.operands = std::move(operands);
  for (std::size_t i = 0; i < results; ++i) {
    const std::size_t domain = kind.rfind('.');
    const std::string_view word = domain == std::string_view::npos ? kind : kind.substr(domain + 1);
    spec.results[i] = {fmt::format("{}{}", prefix_, word), type_of(computed[i])};
  }
  const NodeId node = graph_.add(std::move(spec));
  std::vector<Value> made;
  for (std::uint32_t i = 0; i < results; ++i) {
    made.push_back({node, i});
    tensors_.emplace(made.back(), std::move(computed[i]));
  }
  return made;
}

Expected<Value> GraphBuilder::add(std::string_view kind, std::vector<Value> operands,
                                  Attributes attributes) {
  QUADRANT_TRY(const auto made, add_all(kind, std::move(operands), std::move(attributes), 1));
  return made.front();
}

Expected<Value> GraphBuilder::fold(std::string_view kind, std::vector<Value> operands,
                                   Attributes attributes) {
  const bool constant = std::ranges::all_of(
      operands, [&](Value operand) { return operand.is_absent() || is_constant(operand); });
  QUADRANT_TRY(const Value made, add(kind, std::move(operands), std::move(attributes)));
  if (!constant) return made;
  const Tensor value = tensor(made);
  tensors_.erase(made);
  graph_.erase(made.node);
  return add_constant(prefix_ + "constant", value);
}

Expected<Value> GraphBuilder::cast(Value value, ElementType to) {
  const std::int64_t number = element_type_number(to);
  if (number == 0) return fail(ErrorCode::impossible, fmt::format("a cast to {}", to_string(to)));
  return fold(ops::Cast::kind, {value}, {{"to", number}});
}

Expected<Value> GraphBuilder::transpose(Value value, const Integers& permutation) {
  if (std::ranges::is_sorted(permutation)) return value;
  return add(ops::Transpose::kind, {value}, {{"perm", permutation}});
}

Value GraphBuilder::shared(Value value) {
  if (!is_constant(value)) return value;
  const auto same = [&](Value other) {
    return element(other) == element(value) && shape(other) == shape(value) &&
           std::ranges::equal(tensor(other).bytes(), tensor(value).bytes());
  };
  const auto found = std::ranges::find_if(shared_, same);
  if (found != shared_.end()) return *found;
  shared_.push_back(value);
  return value;
}

bool GraphBuilder::is_constant(Value value) const {
  return graph_.kind(value.node) == ops::Constant::kind;
}

GraphBuilder::Built GraphBuilder::finish(
    const std::vector<std::pair<std::string, Value>>& outputs) && {
  for (const auto& [name, value] : outputs) graph_.add_output(name, value);
  for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
    const NodeId node = graph_.node_at(index);
    const bool is_unused = node.is_valid() && graph_.uses(node).empty();
    if (is_unused && graph_.kind(node) == ops::Constant::kind) graph_.erase(node);
  }
  Tensors inputs;
  for (const NodeId input : graph_.inputs()) inputs.push_back(tensor({input}));
  return {std::move(graph_), std::move(inputs)};
}

}  // namespace quadrant::webnn
