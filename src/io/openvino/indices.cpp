// What makes tensors of shapes and indices: extents, ranges, diagonals, places of what is not zero.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "io/openvino/chain.hpp"
#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

// --- shapes --------------------------------------------------------------------------------------

bool raise_shape(RaisedLayer& layer) {
  std::ignore = layer.text("output_type");  // the port says it
  make_int64(layer, ops::ShapeOf::kind, {layer.input(0)});
  return true;
}

constexpr OpName shape_of{"ShapeOf", "opset3"};
Data as_int64() { return {{"output_type", "i64"}}; }

void lower_shape(LoweredNode& node) {
  const auto start = node.attribute_or<std::int64_t>("start", 0);
  const auto end = node.attribute_or<std::int64_t>("end", std::numeric_limits<std::int64_t>::max());
  if (start == 0 && end == std::numeric_limits<std::int64_t>::max()) {
    node.make(shape_of, std::array{node.operand(0)}, as_int64());
    return;
  }
  LayerChain chain(node);
  const Output all = chain.extents(node.operand(0));
  node.make({"Slice", "opset8"},
            std::array{all, chain.integers({start}), chain.integers({end}), chain.integers({1})});
}

void lower_size(LoweredNode& node) {
  LayerChain chain(node);
  const Output all = chain.extents(node.operand(0));
  node.make({"ReduceProd"}, std::array{all, chain.integers({0})}, {{"keep_dims", "false"}});
}

void lower_constant_of_shape(LoweredNode& node) {
  const float zero = 0;
  const auto value = node.attribute_or<Constant>(
      "value", Constant::from_values(ElementType::float32, Shape{1}, std::span(&zero, 1)));
  const Output one = node.constant("value", value.reshaped(Shape::scalar()));
  const TensorType type{value.element(), node.result_type().shape, nullptr};
  node.finish(node.step({"Broadcast", "opset3"}, std::array{one, node.operand(0)},
                        {{"mode", "numpy"}}, type, "Broadcast"));
}

// --- ranges --------------------------------------------------------------------------------------

bool raise_range(RaisedLayer& layer) {
  const ElementType wanted = layer.element("output_type");
  const std::int64_t number = element_type_number(wanted);
  if (layer.input_count() != 3 || number == 0) return false;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    const Value value = layer.input(i);
    const bool is_same = layer.type_of(value).element == wanted;
    operands.push_back(
        is_same ? value : stepped(layer, ops::Cast::kind, {value}, {{"to", number}}, wanted));
  }
  layer.make(ops::Range::kind, std::move(operands));
  return true;
}

void lower_range(LoweredNode& node) {
  LayerChain chain(node);
  node.make({"Range", "opset4"}, std::array{chain.scalar(0), chain.scalar(1), chain.scalar(2)},
            {{"output_type", std::string(name_of(node.type(0).element))}});
}

/// Rows and columns of the last two axes: each element's index along one, in a shape that
/// broadcasts with the other's.
Output indices_along(LayerChain& chain, Output extents, std::int64_t from_the_end) {
  const Output count = chain.element_of(extents, -from_the_end);
  const Output list = chain.apply({"Range", "opset4"}, {chain.integer(0), count, chain.integer(1)},
                                  {{"output_type", "i64"}});
  return chain.apply({"Unsqueeze"}, {list, chain.integers({from_the_end - 1})});
}

/// The elements on and above a diagonal, or on and below, and zeros.
void lower_triangle(LoweredNode& node) {
  LayerChain chain(node);
  const Output extents = chain.extents(node.operand(0));
  const Output columns = indices_along(chain, extents, 1);
  const Output rows = indices_along(chain, extents, 2);
  const Output offset = node.has(1) ? chain.scalar(1) : chain.integer(0);
  const Output diagonal = chain.pair({"Add"}, rows, offset);
  const bool is_upper = node.attribute_or<std::int64_t>("upper", 1) != 0;
  const Output keeps = chain.test({is_upper ? "GreaterEqual" : "LessEqual"}, columns, diagonal);
  const TensorType type = node.type(node.operand(0));
  node.finish(node.step({"Select"}, std::array{keeps, node.operand(0), chain.number(0)},
                        {{"auto_broadcast", "numpy"}}, type, "Select"));
}

void lower_eye(LoweredNode& node) {
  LayerChain chain(node);
  const Output extents = chain.extents(node.operand(0));
  const auto number = node.attribute_or<std::int64_t>("dtype", 0);
  const ElementType element = numbered_element_type(number).value_or(node.type(0).element);
  if (name_of(element).empty()) impossible("a type that OpenVINO has no name for");
  node.make({"Eye", "opset9"},
            std::array{chain.element_of(extents, 0), chain.element_of(extents, 1),
                       chain.integer(node.attribute_or<std::int64_t>("k", 0))},
            {{"output_type", std::string(name_of(element))}});
}

// --- places --------------------------------------------------------------------------------------

bool raise_non_zero(RaisedLayer& layer) {
  std::ignore = layer.text("output_type");
  make_int64(layer, ops::NonZero::kind, {layer.input(0)});
  return true;
}

void lower_non_zero(LoweredNode& node) {
  node.make({"NonZero", "opset3"}, std::array{node.operand(0)}, as_int64());
}

/// Negative indices are marks of nothing there, unless they are to count from the end; in ONNX they
/// always do, and what is behind the end marks nothing.
bool raise_one_hot(RaisedLayer& layer) {
  const std::string mode = layer.text("negative_indices_mode", "ignore_negative");
  Value indices = layer.wide(layer.input(0), "indices");
  const Value depth = layer.wide(layer.input(1), "depth");
  if (mode != "normalize") {
    const Value zero = layer.constant(
        "zero", Constant::from_values<std::int64_t>(ElementType::int64, Shape::scalar(),
                                                    std::array{std::int64_t{0}}));
    const Value is_none =
        stepped(layer, ops::Less::kind, {indices, zero}, {}, ElementType::boolean);
    indices = stepped(layer, ops::Where::kind, {is_none, depth, indices}, {}, ElementType::int64);
  }
  const auto as_list = [&](std::size_t input, std::string_view ending) {
    return layer.reshaped(layer.input(input), Shape{1}, ending);
  };
  const Value values = stepped(layer, ops::Concat::kind, {as_list(3, "off"), as_list(2, "on")},
                               {{"axis", std::int64_t{0}}});
  layer.make(ops::OneHot::kind, {indices, depth, values}, {{"axis", layer.integer("axis", -1)}});
  return true;
}

void lower_one_hot(LoweredNode& node) {
  LayerChain chain(node);
  const Output indices = node.converted(node.operand(0), ElementType::int64, "indices");
  const Output depth = node.converted(chain.scalar(1), ElementType::int64, "depth");
  const Output off = chain.element_of(node.operand(2), 0);
  const Output on = chain.element_of(node.operand(2), 1);
  node.make({"OneHot", "opset16"}, std::array{indices, depth, on, off},
            {{"axis", std::to_string(node.attribute_or<std::int64_t>("axis", -1))},
             {"negative_indices_mode", "normalize"}});
}

constexpr std::array raised_indices{
    RaiseRule{"NonZero", raise_non_zero},
    RaiseRule{"OneHot", raise_one_hot},
    RaiseRule{"Range", raise_range},
    RaiseRule{"ShapeOf", raise_shape},
};

constexpr std::array lowered_indices{
    LowerRule{ops::ConstantOfShape::kind, lower_constant_of_shape},
    LowerRule{ops::EyeLike::kind, lower_eye},
    LowerRule{ops::NonZero::kind, lower_non_zero},
    LowerRule{ops::OneHot::kind, lower_one_hot},
    LowerRule{ops::Range::kind, lower_range},
    LowerRule{ops::ShapeOf::kind, lower_shape},
    LowerRule{ops::Size::kind, lower_size},
    LowerRule{ops::Trilu::kind, lower_triangle},
};

}  // namespace

Rules indices_rules() noexcept { return {raised_indices, lowered_indices}; }

}  // namespace quadrant::inline v0::openvino_ir
