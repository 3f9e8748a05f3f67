// The operators that changed between opset 7 and 13: mostly, attributes became inputs.
#include <algorithm>
#include <array>

#include "io/onnx/edit.hpp"
#include "io/onnx/opset_rules.hpp"
#include "io/onnx/replacement.hpp"
#include "ir/float16.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"

namespace quadrant::inline v0::onnx {
namespace {

bool is_used(const Graph& graph, NodeId node, std::uint32_t result) {
  return std::ranges::any_of(graph.uses(node),
                             [&](const Use& use) { return use.result == result; });
}

/// A scalar of a float type, rounded to nearest even.
Constant float_scalar_as(ElementType element, double value) {
  const auto single = static_cast<float>(value);
  if (element == ElementType::float32) return float_scalar(single);
  const Shape scalar{std::vector<std::int64_t>{}};
  if (element == ElementType::float64) {
    const auto wide = static_cast<double>(single);  // the attribute was a float
    return Constant::from_values(element, scalar, std::span(&wide, 1));
  }
  if (element != ElementType::float16) {
    impossible(fmt::format("its elements are {}", to_string(element)));
  }
  const std::uint16_t half = round_to_float16(single);
  return Constant::from_values(element, scalar, std::span(&half, 1));
}

ElementType element_of_operand(const Graph& graph, NodeId node) {
  const TensorType* type = graph.ref(node).operand_type(0);
  const ElementType element = type ? type->expressed().element : ElementType::undefined;
  if (element == ElementType::undefined) impossible("the type of its elements is not known");
  return element;
}

}  // namespace

void convert_batch_normalization(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto spatial = made.take<std::int64_t>("spatial");
  if (!spatial) return;
  if (*spatial == 0) impossible("BatchNormalization with spatial=0 ended with opset 8");
  made.finish();
}

void convert_clip(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto low = made.take<double>("min");
  const auto high = made.take<double>("max");
  if (!low && !high) return;
  const ElementType element = element_of_operand(graph, node);
  if (low) made.set_operand(1, "min", float_scalar_as(element, *low));
  if (high) made.set_operand(2, "max", float_scalar_as(element, *high));
  made.finish();
}

void convert_dropout(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto ratio = made.take<double>("ratio");
  // What the mask holds when nothing is dropped was never the same twice.
  if (graph.operands(node).size() == 1 && is_used(graph, node, 1)) {
    impossible("its mask is used, whose meaning changed");
  }
  if (!ratio) return;
  made.set_operand(1, "ratio", float_scalar(static_cast<float>(*ratio)));
  made.finish();
}

void convert_pad(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto pads = made.take<std::vector<std::int64_t>>("pads");
  const auto value = made.take<double>("value");
  if (!pads) return;
  made.set_operand(1, "pads", int64_constant(*pads));
  if (value && *value != 0) {
    made.set_operand(2, "value", float_scalar_as(element_of_operand(graph, node), *value));
  }
  made.finish();
}

void convert_axes(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto axes = made.take<std::vector<std::int64_t>>("axes");
  if (!axes) return;
  made.set_operand(1, "axes", int64_constant(*axes));
  made.finish();
}

void convert_scatter(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  made.set_kind(ops::ScatterElements::kind);
  made.attributes().erase(key::op_type);
  made.finish();
}

void convert_slice(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto starts = made.take<std::vector<std::int64_t>>("starts");
  const auto ends = made.take<std::vector<std::int64_t>>("ends");
  const auto axes = made.take<std::vector<std::int64_t>>("axes");
  if (!starts || !ends) return;
  made.set_operand(1, "starts", int64_constant(*starts));
  made.set_operand(2, "ends", int64_constant(*ends));
  if (axes) made.set_operand(3, "axes", int64_constant(*axes));
  made.finish();
}

void convert_split(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto split = made.take<std::vector<std::int64_t>>("split");
  if (!split) return;
  made.set_operand(1, "split", int64_constant(*split));
  made.finish();
}

void convert_top_k(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const auto k = made.take<std::int64_t>("k");
  if (!k) return;
  made.set_operand(1, "k", int64_constant(std::array{*k}));
  made.finish();
}

/// Until opset 12, everything from `axis` on was one dimension.
void convert_softmax(Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  const auto axis = ref.attribute_or<std::int64_t>("axis", 1);
  const TensorType* type = ref.operand_type(0);
  if (!type) return;
  const bool ranked = type->shape.is_ranked();
  if (axis == -1 || (ranked && axis == type->shape.rank() - 1)) {
    graph.set_attribute(node, "axis", std::int64_t{-1});
    return;
  }
  if (ranked && (axis < -type->shape.rank() || axis > type->shape.rank())) {
    impossible(fmt::format("axis {} of {} dimensions", axis, type->shape.rank()));
  }
  const Value input = ref.operand(0);
  const ElementType element = type->element;
  const std::string name(graph.value_name({node}));
  const std::string label(graph.name(node));
  // Node names are unique: the last node has it.
  const Value flat = add_op(graph, "onnx.Flatten", {}, {input},
                            {name + "_flat", {element, {}, nullptr}}, {{"axis", axis}});
  const Value shape = add_op(graph, ops::ShapeOf::kind, {}, {input},
                             {name + "_shape", {ElementType::int64, {}, nullptr}});
  Attributes attributes = graph.attributes(node);
  attributes.set("axis", std::int64_t{-1});
  const Value result = add_op(graph, std::string(graph.kind(node)), {}, {flat},
                              {name + "_softmax", {element, {}, nullptr}}, std::move(attributes));
  graph.erase_attribute(result.node, key::value_info);
  const TensorType whole = graph.type({node});
  const Attribute* info = graph.attribute(node, key::value_info);
  Attributes kept;
  if (info) kept.set(std::string(key::value_info), *info);
  take_over(graph, {node},
            add_op(graph, std::string(ops::Reshape::kind), label, {result, shape}, {name, whole},
                   std::move(kept)));
}

namespace {

/// Resize as opset 7 to 10 meant it: position i comes from i / scale.
void finish_resize(Graph& graph, NodeId node, Replacement& made, const Constant& scales) {
  const auto mode = graph.ref(node).attribute_or<std::string>("mode", "nearest");
  made.set_kind(ops::Resize::kind);
  made.attributes().erase(key::op_type);
  made.attributes().set("coordinate_transformation_mode", std::string("asymmetric"));
  if (mode == "nearest") {
    // ONNX Runtime, the only one who said what it means, rounds down when it enlarges and up when
    // it shrinks (UpsampleNearest in core/providers/cpu/tensor/upsample.cc).
    if (!scales || scales.element() != ElementType::float32) {
      impossible("its scales are not constant, and rounding depends on them");
    }
    const ConstantBytes bytes = value_of(scales.read());
    const auto values = bytes.as<float>();
    const bool shrinks = std::ranges::any_of(values, [](float scale) { return scale < 1; });
    const bool grows = std::ranges::any_of(values, [](float scale) { return scale > 1; });
    if (shrinks && grows) impossible("it shrinks one axis and enlarges another");
    made.attributes().set("nearest_mode", std::string(shrinks ? "ceil" : "floor"));
  } else if (mode == "bilinear") {
    made.attributes().set("mode", std::string("linear"));
  } else if (mode != "linear") {
    impossible(fmt::format("its mode is '{}'", mode));
  }
  made.finish();
}

}  // namespace

void convert_scan(Graph& /*graph*/, NodeId /*node*/) {
  impossible("it goes through batches, which it does not since opset 9");
}

void convert_upsample(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  if (const auto scales = made.take<std::vector<double>>("scales")) {  // opset 7 and 8
    std::vector<float> values;
    for (const double scale : *scales) values.push_back(static_cast<float>(scale));
    const auto constant =
        Constant::from_values(ElementType::float32, Shape{static_cast<std::int64_t>(values.size())},
                              std::span<const float>(values));
    made.set_operand(2, "scales", constant);
    finish_resize(graph, node, made, constant);
    return;
  }
  convert_resize(graph, node);
}

void convert_resize(Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  Replacement made(graph, node);
  if (ref.operands().size() == 2) {  // X, scales: opset 9 and 10
    const Constant* scales = ref.operand_constant(1);
    made.operands() = {ref.operand(0), Value{}, ref.operand(1)};
    finish_resize(graph, node, made, scales ? *scales : Constant());
    return;
  }
  // Opset 11 wanted empty scales beside sizes, opset 13 wants none.
  convert_resize_operands(graph, node);
}

}  // namespace quadrant::inline v0::onnx
