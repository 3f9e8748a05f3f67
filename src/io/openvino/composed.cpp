// Operations on one element after the other that one side has no name for: formulas of several.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/elementwise.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

// --- layers --------------------------------------------------------------------------------------

void lower_reciprocal(LoweredNode& node) {
  LayerChain chain(node);
  node.make({"Divide"}, std::array{chain.number(1), node.operand(0)},
            {{"auto_broadcast", "numpy"}, {"m_pythondiv", "false"}});
}

/// Sum and Mean of any number of operands.
void lower_sum(LoweredNode& node) {
  LayerChain chain(node);
  Output sum = node.operand(0);
  for (std::size_t i = 1; i < node.operand_count(); ++i) {
    sum = chain.pair({"Add"}, sum, node.operand(i));
  }
  if (node.operand_count() == 1) {
    node.alias(sum);
    return;
  }
  if (node.node().kind() == ops::Mean::kind) {
    sum = chain.pair({"Divide"}, sum, chain.number(static_cast<double>(node.operand_count())));
  }
  node.finish(sum);
}

/// x where it is larger than alpha, else 0. Not a product: 0 times infinity is no number.
void lower_thresholded_relu(LoweredNode& node) {
  LayerChain chain(node);
  const Output x = node.operand(0);
  const Output alpha = chain.number(node.attribute_or<double>("alpha", 1));
  node.make({"Select"}, std::array{chain.test({"Greater"}, x, alpha), x, chain.number(0)},
            {{"auto_broadcast", "numpy"}});
}

/// max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)
void lower_celu(LoweredNode& node) {
  LayerChain chain(node);
  const Output x = node.operand(0);
  const Output alpha = chain.number(node.attribute_or<double>("alpha", 1));
  const Output below = chain.pair({"Divide"}, chain.pair({"Minimum"}, x, chain.number(0)), alpha);
  const Output curve = chain.apply({"Elu"}, {below}, {{"alpha", "1"}});
  const Output above = chain.apply({"ReLU"}, {x});
  node.make({"Add"}, std::array{above, chain.pair({"Multiply"}, curve, alpha)},
            {{"auto_broadcast", "numpy"}});
}

/// x + bias below -lambda, x - bias above lambda, else 0.
void lower_shrink(LoweredNode& node) {
  LayerChain chain(node);
  const Output x = node.operand(0);
  const auto lambda = node.attribute_or<double>("lambd", 0.5);
  const Output bias = chain.number(node.attribute_or<double>("bias", 0));
  const Data numpy{{"auto_broadcast", "numpy"}};
  const Output is_above = chain.test({"Greater"}, x, chain.number(lambda));
  const Output above =
      chain.apply({"Select"}, {is_above, chain.pair({"Subtract"}, x, bias), chain.number(0)}, numpy,
                  node.type(0).element);
  const Output is_below = chain.test({"Less"}, x, chain.number(-lambda));
  node.make({"Select"}, std::array{is_below, chain.pair({"Add"}, x, bias), above}, numpy);
}

/// x * sigmoid(alpha * x)
void lower_swish(LoweredNode& node) {
  LayerChain chain(node);
  const Output factor = chain.number(node.attribute_or<double>("alpha", 1));
  node.make({"Swish", "opset4"}, std::array{node.operand(0), factor});
}

void lower_shift(LoweredNode& node) {
  const bool is_left = node.attribute_or<std::string>("direction", "") == "LEFT";
  node.make({is_left ? "BitwiseLeftShift" : "BitwiseRightShift", "opset15"},
            std::array{node.operand(0), node.operand(1)}, {{"auto_broadcast", "numpy"}});
}

bool raise_shift(RaisedLayer& layer) {
  const ElementType element = layer.type_of(layer.input(0)).element;
  constexpr std::array unsigned_types{ElementType::uint8, ElementType::uint16, ElementType::uint32,
                                      ElementType::uint64};
  if (std::ranges::find(unsigned_types, element) == unsigned_types.end()) return false;
  if (layer.text("auto_broadcast", "numpy") != "numpy") return false;
  const bool is_left = layer.type() == "BitwiseLeftShift";
  layer.make(ops::BitShift::kind, {layer.input(0), layer.input(1)},
             {{"direction", std::string(is_left ? "LEFT" : "RIGHT")}});
  return true;
}

// --- infinities ----------------------------------------------------------------------------------

constexpr std::array infinity_signs{"detect_negative", "detect_positive"};

bool raise_is_inf(RaisedLayer& layer) {
  Attributes attributes;
  for (const char* name : infinity_signs) {
    attributes.set(name, std::int64_t{layer.flag(name, true) ? 1 : 0});
  }
  layer.make(ops::IsInf::kind, {layer.input(0)}, std::move(attributes));
  return true;
}

void lower_is_inf(LoweredNode& node) {
  Data data;
  for (const char* name : infinity_signs) {
    data.emplace_back(name, text_of(node.attribute_or<std::int64_t>(name, 1) != 0));
  }
  node.make({"IsInf", "opset10"}, std::array{node.operand(0)}, data);
}

bool raise_is_finite(RaisedLayer& layer) {
  const Value x = layer.input(0);
  const Value is_infinite = stepped(layer, ops::IsInf::kind, {x}, {}, ElementType::boolean);
  const Value is_none = stepped(layer, ops::IsNaN::kind, {x}, {}, ElementType::boolean);
  layer.make(ops::Not::kind, {stepped(layer, ops::Or::kind, {is_infinite, is_none})});
  return true;
}

bool raise_not_equal(RaisedLayer& layer) {
  if (layer.text("auto_broadcast", "numpy") != "numpy") return false;
  const Value same =
      stepped(layer, ops::Equal::kind, {layer.input(0), layer.input(1)}, {}, ElementType::boolean);
  layer.make(ops::Not::kind, {same});
  return true;
}

bool raise_identity(RaisedLayer& layer) {
  layer.alias(layer.input(0));
  return true;
}

/// Two, each in the type that both become.
bool raise_promoted(RaisedLayer& layer) {
  std::ignore = layer.text("promote_unsafe");  // the ports say to what
  std::ignore = layer.text("pytorch_scalar_promotion");
  std::ignore = layer.text("u64_integer_promotion_target");
  if (layer.layer().outputs.size() != 2) invalid("other than two outputs");
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t number = element_type_number(layer.result_type(i).element);
    if (number == 0) return false;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorType type = layer.result_type(i);
    layer.finish(layer.step(ops::Cast::kind, {layer.input(i)}, type, fmt::format("of_{}", i),
                            {{"to", element_type_number(type.element)}}),
                 i);
  }
  return true;
}

constexpr std::array raised_composed{
    RaiseRule{"ConvertPromoteTypes", raise_promoted}, RaiseRule{"BitwiseLeftShift", raise_shift},
    RaiseRule{"BitwiseRightShift", raise_shift},      RaiseRule{"Identity", raise_identity},
    RaiseRule{"IsFinite", raise_is_finite},           RaiseRule{"IsInf", raise_is_inf},
    RaiseRule{"NotEqual", raise_not_equal},
};

constexpr std::array lowered_composed{
    LowerRule{ops::BitShift::kind, lower_shift},
    LowerRule{ops::Celu::kind, lower_celu},
    LowerRule{ops::IsInf::kind, lower_is_inf},
    LowerRule{ops::Mean::kind, lower_sum},
    LowerRule{ops::Reciprocal::kind, lower_reciprocal},
    LowerRule{ops::Shrink::kind, lower_shrink},
    LowerRule{ops::Sum::kind, lower_sum},
    LowerRule{ops::Swish::kind, lower_swish},
    LowerRule{ops::ThresholdedRelu::kind, lower_thresholded_relu},
};

}  // namespace

Rules composed_rules() noexcept { return {raised_composed, lowered_composed}; }

}  // namespace quadrant::inline v0::openvino_ir
