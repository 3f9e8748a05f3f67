#include "io/onnx/edit.hpp"

#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

template <class T>
Constant scalar(ElementType element, T value) {
  return Constant::from_values(element, Shape(std::vector<std::int64_t>{}),
                               std::span<const T>(&value, 1));
}

}  // namespace

Value add_op(Graph& graph, std::string_view kind, std::string node_name,
             std::vector<Value> operands, ResultSpec result, Attributes attributes) {
  return {graph.add({.kind = std::string(kind),
                     .name = std::move(node_name),
                     .operands = std::move(operands),
                     .results = {std::move(result)},
                     .attributes = std::move(attributes)})};
}

Value add_scales(Graph& graph, std::string name, Constant scales) {
  if (scales.element() == ElementType::float64) {
    scales = make_scales(ElementType::float32, scales.shape(), value_of(read_scales(scales)));
  }
  const bool is_half = scales.element() == ElementType::float16;
  TensorType type{ElementType::float32, scales.shape(), nullptr};
  const Value stored = graph.add_constant(name, std::move(scales));
  if (!is_half) return stored;
  return add_op(graph, kind_of({{}, "Cast"}), {}, {stored}, {std::move(name), std::move(type)},
                {{"to", element_type_number(ElementType::float32)}});
}

void take_over(Graph& graph, Value from, Value to) {
  std::string name(graph.value_name(from));
  graph.replace_uses(from, to);
  graph.erase(from.node);
  graph.set_value_name(to, std::move(name));
}

bool is_capture(const Graph& graph, const Use& use) {
  const NodeRef user = graph.ref(use.user);
  const auto captures = user.attribute_or<std::int64_t>(key::captures, 0);
  return static_cast<std::int64_t>(use.operand) >=
         static_cast<std::int64_t>(user.operands().size()) - captures;
}

Constant int64_constant(std::span<const std::int64_t> values) {
  return Constant::from_values(ElementType::int64, Shape{static_cast<std::int64_t>(values.size())},
                               values);
}

Constant int64_scalar(std::int64_t value) { return scalar(ElementType::int64, value); }
Constant float_scalar(float value) { return scalar(ElementType::float32, value); }

}  // namespace quadrant::inline v0::onnx
