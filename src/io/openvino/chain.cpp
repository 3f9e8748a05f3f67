#include "io/openvino/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {

// --- LayerChain ----------------------------------------------------------------------------------

/// Where the graph does not tell the type, the layer that was made may.
LayerChain::LayerChain(LoweredNode& node)
    : node_(node), element_(node.type(node.operand(0)).element) {}

Output LayerChain::apply(const OpName& op, const std::vector<Output>& inputs, const Data& data,
                         ElementType element) {
  if (element == ElementType::undefined) element = node_.type(inputs.front()).element;
  return node_.step(op, inputs, data, {element, Shape{}, nullptr}, op.type);
}

Output LayerChain::pair(const OpName& op, Output a, Output b, ElementType element) {
  return apply(op, {a, b}, {{"auto_broadcast", "numpy"}}, element);
}

Output LayerChain::number(double value, ElementType element) {
  if (element == ElementType::undefined) element = element_;
  if (name_of(element).empty()) impossible("an operand of unknown type");
  if (is_float(element)) return node_.number("number", element, value);
  constexpr double most = 1ULL << 62U;
  if (!(std::abs(value) <= most)) impossible("a number that integers do not hold");
  return node_.converted(integer(static_cast<std::int64_t>(value)), element, "number");
}

Output LayerChain::scalar(std::size_t index) {
  const Output value = node_.operand(index);
  if (node_.type(index).shape == Shape::scalar()) return value;
  if (const Constant* known = node_.constant(index)) {
    if (known->element_count() != 1) invalid(fmt::format("operand {} is not one number", index));
    return node_.constant("scalar", known->reshaped(Shape::scalar()));
  }
  return apply({"Squeeze"}, {value});
}

Output LayerChain::extents(Output value) {
  return apply({"ShapeOf", "opset3"}, {value}, {{"output_type", "i64"}}, ElementType::int64);
}

Output LayerChain::part(Output list, std::int64_t begin, std::int64_t end) {
  return apply({"Slice", "opset8"}, {list, integers({begin}), integers({end}), integers({1})});
}

Output LayerChain::element_of(Output list, std::int64_t index) {
  return apply({"Gather", "opset8"}, {list, integer(index), integer(0)}, {{"batch_dims", "0"}});
}

Output LayerChain::count(std::int64_t begin, std::int64_t end) {
  if (const auto known = known_count(node_.ranked(0), begin, end)) return integers({*known});
  return reduced("ReduceProd", part(extents(node_.operand(0)), begin, end), {0});
}

Output LayerChain::reduced(std::string_view type, Output value,
                           const std::vector<std::int64_t>& axes, bool keeps) {
  const bool is_norm = type == "ReduceL1" || type == "ReduceL2";
  return apply({type, is_norm ? "opset4" : "opset1"}, {value, integers(axes)},
               {{"keep_dims", text_of(keeps)}});
}

Output LayerChain::power(Output x, std::int64_t p) {
  if (p < 1) impossible(fmt::format("a norm of p = {}", p));
  if (p == 2) return pair({"Multiply"}, x, x);
  const Output magnitude = apply({"Abs"}, {x});
  return p == 1 ? magnitude : pair({"Power"}, magnitude, number(static_cast<double>(p)));
}

Output LayerChain::root(Output sum, std::int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return apply({"Sqrt"}, {sum});
  return pair({"Power"}, sum, number(1 / static_cast<double>(p)));
}

std::vector<Output> all_operands(const LoweredNode& node) {
  std::vector<Output> outputs;
  outputs.reserve(node.operand_count());
  for (std::size_t i = 0; i < node.operand_count(); ++i) outputs.push_back(node.operand(i));
  return outputs;
}

std::optional<Output> list_operand(LoweredNode& node, std::size_t index,
                                   std::string_view attribute) {
  if (node.node().graph->attribute(node.node().id, attribute) != nullptr) {
    return node.integers(attribute,
                         node.list(index, attribute).value_or(std::vector<std::int64_t>{}));
  }
  if (!node.has(index)) return std::nullopt;
  return node.operand(index);
}

std::int64_t axis_of(const LoweredNode& node, std::int64_t fallback) {
  const auto given = node.attribute_or<std::int64_t>("axis", fallback);
  const Shape& shape = node.type(0).shape;
  if (!shape.is_ranked()) return given;
  const auto axis = normalize_axis(given, shape.rank());
  if (!axis) invalid("an axis outside of the operand");
  return *axis;
}

void expect_one_result(const LoweredNode& node) {
  const auto uses = node.node().graph->uses(node.node().id);
  if (std::ranges::any_of(uses, [](const Use& use) { return use.result != 0; })) {
    impossible("a second result");
  }
}

void make_first(LoweredNode& node, const OpName& op, std::span<const Output> inputs,
                const Data& data) {
  expect_one_result(node);
  if (node.node().graph->result_count(node.node().id) == 1) {
    node.make(op, inputs, data);
    return;
  }
  node.finish(node.step(op, inputs, data, node.result_type(), op.type));
}

std::optional<std::int64_t> known_count(const Shape& shape, std::int64_t begin, std::int64_t end) {
  const auto extents = shape.extents().subspan(static_cast<std::size_t>(begin),
                                               static_cast<std::size_t>(end - begin));
  return Shape(std::vector(extents.begin(), extents.end())).element_count();
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::int64_t rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(std::max<std::int64_t>(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// --- nodes of a layer ----------------------------------------------------------------------------

std::vector<Value> all_inputs(const RaisedLayer& layer) {
  std::vector<Value> values;
  values.reserve(layer.input_count());
  for (std::size_t i = 0; i < layer.input_count(); ++i) values.push_back(layer.input(i));
  return values;
}

Value stepped(RaisedLayer& layer, std::string_view kind, std::vector<Value> operands,
              Attributes attributes, ElementType element) {
  if (element == ElementType::undefined) element = layer.type_of(operands.front()).element;
  const std::size_t dot = kind.find('.');
  return layer.step(kind, std::move(operands), {element, Shape{}, nullptr},
                    kind.substr(dot == std::string_view::npos ? 0 : dot + 1),
                    std::move(attributes));
}

void make_int64(RaisedLayer& layer, std::string_view kind, std::vector<Value> operands,
                Attributes attributes) {
  const ElementType wanted = layer.result_type().element;
  if (wanted == ElementType::int64) {
    layer.make(kind, std::move(operands), std::move(attributes));
    return;
  }
  const std::int64_t number = element_type_number(wanted);
  if (number == 0) invalid("a result of no integer type");
  const Value wide =
      stepped(layer, kind, std::move(operands), std::move(attributes), ElementType::int64);
  layer.make(ops::Cast::kind, {wide}, {{"to", number}});
}

void make_with_indices(RaisedLayer& layer, std::string_view kind, std::vector<Value> operands,
                       Attributes attributes) {
  const TensorType& indices = layer.result_type(1);
  if (indices.element == ElementType::int64) {
    layer.make(kind, std::move(operands), std::move(attributes));
    return;
  }
  const std::int64_t number = element_type_number(indices.element);
  if (number == 0) invalid("indices of no integer type");
  const std::array types{layer.result_type(0),
                         TensorType{ElementType::int64, indices.shape, nullptr}};
  const NodeId node = layer.steps(kind, std::move(operands), types, "found", std::move(attributes));
  layer.finish(layer.step(ops::Cast::kind, {{node, 1}}, indices, "indices", {{"to", number}}), 1);
  layer.finish({node, 0}, 0);
}

std::optional<std::int64_t> constant_axis(const RaisedLayer& layer, std::size_t input) {
  const auto values = layer.constant_integers(input);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

}  // namespace quadrant::inline v0::openvino_ir
