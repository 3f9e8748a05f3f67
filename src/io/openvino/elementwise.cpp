// What computes one element from one element of each operand: as OpenVINO and as ONNX have it.
#include "ir/ops/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "io/openvino/chain.hpp"
#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "numerics/clamp_bounds.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// An operation that both have, with the same operands and without attributes to speak of.
struct SameOperation {
  std::string_view type;
  std::string_view kind;
  std::string_view version = "opset1";
  std::size_t operands = 1;
};

constexpr std::array same_operations{
    SameOperation{"Abs", ops::Abs::kind},
    SameOperation{"Acos", ops::Acos::kind},
    SameOperation{"Acosh", ops::Acosh::kind, "opset4"},
    SameOperation{"Asin", ops::Asin::kind},
    SameOperation{"Asinh", ops::Asinh::kind, "opset4"},
    SameOperation{"Atan", ops::Atan::kind},
    SameOperation{"Atanh", ops::Atanh::kind, "opset4"},
    SameOperation{"BitwiseNot", ops::BitwiseNot::kind, "opset13"},
    SameOperation{"Ceiling", ops::Ceil::kind},
    SameOperation{"Cos", ops::Cos::kind},
    SameOperation{"Cosh", ops::Cosh::kind},
    SameOperation{"Erf", ops::Erf::kind},
    SameOperation{"Exp", ops::Exp::kind},
    SameOperation{"Floor", ops::Floor::kind},
    SameOperation{"HSwish", ops::HardSwish::kind, "opset4"},
    SameOperation{"IsNaN", ops::IsNaN::kind, "opset10"},
    SameOperation{"Log", ops::Log::kind},
    SameOperation{"LogicalNot", ops::Not::kind},
    SameOperation{"Mish", ops::Mish::kind, "opset4"},
    SameOperation{"Negative", ops::Neg::kind},
    SameOperation{"ReLU", ops::Relu::kind},
    SameOperation{"Sigmoid", ops::Sigmoid::kind},
    SameOperation{"Sign", ops::Sign::kind},
    SameOperation{"Sin", ops::Sin::kind},
    SameOperation{"Sinh", ops::Sinh::kind},
    SameOperation{"SoftPlus", ops::Softplus::kind, "opset4"},
    SameOperation{"SoftSign", ops::Softsign::kind, "opset9"},
    SameOperation{"Sqrt", ops::Sqrt::kind},
    SameOperation{"Tan", ops::Tan::kind},
    SameOperation{"Tanh", ops::Tanh::kind},
    SameOperation{"Add", ops::Add::kind, "opset1", 2},
    SameOperation{"BitwiseAnd", ops::BitwiseAnd::kind, "opset13", 2},
    SameOperation{"BitwiseOr", ops::BitwiseOr::kind, "opset13", 2},
    SameOperation{"BitwiseXor", ops::BitwiseXor::kind, "opset13", 2},
    SameOperation{"Equal", ops::Equal::kind, "opset1", 2},
    SameOperation{"Greater", ops::Greater::kind, "opset1", 2},
    SameOperation{"GreaterEqual", ops::GreaterOrEqual::kind, "opset1", 2},
    SameOperation{"Less", ops::Less::kind, "opset1", 2},
    SameOperation{"LessEqual", ops::LessOrEqual::kind, "opset1", 2},
    SameOperation{"LogicalAnd", ops::And::kind, "opset1", 2},
    SameOperation{"LogicalOr", ops::Or::kind, "opset1", 2},
    SameOperation{"LogicalXor", ops::Xor::kind, "opset1", 2},
    SameOperation{"Maximum", ops::Max::kind, "opset1", 2},
    SameOperation{"Minimum", ops::Min::kind, "opset1", 2},
    SameOperation{"Multiply", ops::Multiply::kind, "opset1", 2},
    SameOperation{"Power", ops::Pow::kind, "opset1", 2},
    SameOperation{"Subtract", ops::Sub::kind, "opset1", 2},
    SameOperation{"Select", ops::Where::kind, "opset1", 3},
};

std::vector<Value> inputs_of(const RaisedLayer& layer, std::size_t count) {
  std::vector<Value> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(layer.input(i));
  return values;
}

/// Whether operands broadcast as ONNX's do.
bool broadcasts_as_onnx(RaisedLayer& layer) {
  const std::string rule = layer.text("auto_broadcast", "numpy");
  if (rule == "numpy") return true;
  if (rule != "none") return false;
  const Shape& shape = layer.shape_of(layer.input(0));
  for (std::size_t i = 1; i < layer.input_count(); ++i) {
    if (!may_equal(layer.shape_of(layer.input(i)), shape)) return false;
  }
  return true;
}

bool raise_same(RaisedLayer& layer) {
  const auto* const found = std::ranges::find(same_operations, layer.type(), &SameOperation::type);
  if (layer.input_count() != found->operands) return false;
  if (found->operands > 1 && !broadcasts_as_onnx(layer)) return false;
  layer.make(found->kind, inputs_of(layer, found->operands));
  return true;
}

void lower_same(LoweredNode& node) {
  const auto* const found =
      std::ranges::find(same_operations, node.node().kind(), &SameOperation::kind);
  std::vector<Output> inputs;
  inputs.reserve(node.operand_count());
  for (std::size_t i = 0; i < node.operand_count(); ++i) inputs.push_back(node.operand(i));
  const OpName op{found->type, found->version};
  const Data data = found->operands > 1 ? Data{{"auto_broadcast", "numpy"}} : Data{};
  if (inputs.size() == found->operands) {
    node.make(op, inputs, data);
    return;
  }
  // Max and Min of other than two.
  if (found->operands != 2) invalid(fmt::format("{} operands", inputs.size()));
  if (inputs.size() == 1) {
    node.alias(inputs.front());
    return;
  }
  Output sum = inputs.front();
  const TensorType type{node.type(0).element, Shape{}, nullptr};
  for (std::size_t i = 1; i + 1 < inputs.size(); ++i) {
    sum = node.step(op, std::array{sum, inputs[i]}, data, type, fmt::format("of_{}", i + 1));
  }
  node.make(op, std::array{sum, inputs.back()}, data);
}

// --- division and remainders ---------------------------------------------------------------------

bool raise_divide(RaisedLayer& layer) {
  // Of integers it would round down, but the CPU plugin rounds towards zero, as ONNX does, whatever
  // it is (seen in release 2026.4).
  std::ignore = layer.flag("m_pythondiv", true);
  if (layer.input_count() != 2 || !broadcasts_as_onnx(layer)) return false;
  layer.make(ops::Div::kind, inputs_of(layer, 2));
  return true;
}

void lower_divide(LoweredNode& node) {
  node.make({"Divide"}, std::array{node.operand(0), node.operand(1)},
            {{"auto_broadcast", "numpy"}, {"m_pythondiv", "false"}});
}

bool raise_remainder(RaisedLayer& layer) {
  if (layer.input_count() != 2 || !broadcasts_as_onnx(layer)) return false;
  const bool is_floor = layer.type() == "FloorMod";
  if (is_floor && !is_integer(layer.type_of(layer.input(0)).element)) return false;
  layer.make(ops::Mod::kind, inputs_of(layer, 2), {{"fmod", std::int64_t{is_floor ? 0 : 1}}});
  return true;
}

void lower_remainder(LoweredNode& node) {
  const bool is_floor = node.attribute_or<std::int64_t>("fmod", 0) == 0;
  node.make({is_floor ? "FloorMod" : "Mod"}, std::array{node.operand(0), node.operand(1)},
            {{"auto_broadcast", "numpy"}});
}

bool raise_squared_difference(RaisedLayer& layer) {
  if (layer.input_count() != 2 || !broadcasts_as_onnx(layer)) return false;
  const Value difference =
      layer.step(ops::Sub::kind, inputs_of(layer, 2), layer.result_type(), "difference");
  layer.make(ops::Multiply::kind, {difference, difference});
  return true;
}

// --- activations with parameters -----------------------------------------------------------------

bool raise_clamp(RaisedLayer& layer) {
  const double low = layer.real("min", -std::numeric_limits<double>::infinity());
  const double high = layer.real("max", std::numeric_limits<double>::infinity());
  const ElementType element = layer.type_of(layer.input(0)).element;
  if (!is_float(element)) return false;
  const Value least = layer.number("min", element, low);
  const Value most = layer.number("max", element, high);
  layer.make(ops::Clip::kind, {layer.input(0), least, most});
  return true;
}

void lower_clip(LoweredNode& node) {
  const auto low = known_number(node.node(), 1, "min", -std::numeric_limits<double>::infinity());
  const auto high = known_number(node.node(), 2, "max", std::numeric_limits<double>::infinity());
  const bool is_real = is_float(node.type(0).element);
  if (is_real && low && high && *low <= *high && std::isfinite(*low) && std::isfinite(*high)) {
    node.make({"Clamp"}, std::array{real_operand(node, 0)},
              {{"min", text_of(*low)}, {"max", text_of(*high)}});
    return;
  }
  const Data data{{"auto_broadcast", "numpy"}};
  Output result = node.operand(0);
  const auto bound = [&](std::size_t operand, std::string_view attribute,
                         const std::optional<double>& known) -> std::optional<Output> {
    if (node.has(operand)) return node.operand(operand);
    if (node.node().graph->attribute(node.node().id, attribute) == nullptr) return std::nullopt;
    return node.number(attribute, node.type(0).element, *known);
  };
  const auto least = bound(1, "min", low);
  const auto most = bound(2, "max", high);
  if (!least && !most) {
    node.alias(result);
    return;
  }
  if (!most) {
    node.make({"Maximum"}, std::array{result, *least}, data);
    return;
  }
  if (least) {
    result = node.step({"Maximum"}, std::array{result, *least}, data, node.type(0), "raised");
  }
  node.make({"Minimum"}, std::array{result, *most}, data);
}

bool raise_elu(RaisedLayer& layer) {
  layer.make(ops::Elu::kind, {layer.input(0)}, {{"alpha", layer.real("alpha", 1)}});
  return true;
}

void lower_elu(LoweredNode& node) {
  node.make({"Elu"}, std::array{node.operand(0)},
            {{"alpha", text_of(node.attribute_or<double>("alpha", 1))}});
}

/// An activation whose numbers are operands here and attributes there.
struct ScaledActivation {
  std::string_view type;
  std::string_view kind;
  std::array<const char*, 2> names;
  std::array<double, 2> defaults;
};
constexpr std::array scaled_activations{
    ScaledActivation{"HardSigmoid", ops::HardSigmoid::kind, {"alpha", "beta"}, {0.2, 0.5}},
    ScaledActivation{"Selu",
                     ops::Selu::kind,
                     {"alpha", "gamma"},
                     {1.67326319217681884765625, 1.05070102214813232421875}},
};

bool raise_scaled(RaisedLayer& layer) {
  const auto* const found =
      std::ranges::find(scaled_activations, layer.type(), &ScaledActivation::type);
  const auto first = layer.constant_number(1);
  const auto second = layer.constant_number(2);
  if (!first || !second) return false;
  layer.make(found->kind, {layer.input(0)},
             {{found->names[0], *first}, {found->names[1], *second}});
  return true;
}

constexpr double sixth = 1.0 / 6.0;

bool raise_hard_sigmoid_of_six(RaisedLayer& layer) {
  layer.make(ops::HardSigmoid::kind, {layer.input(0)}, {{"alpha", sixth}, {"beta", 0.5}});
  return true;
}

void lower_scaled(LoweredNode& node) {
  const auto* const found =
      std::ranges::find(scaled_activations, node.node().kind(), &ScaledActivation::kind);
  std::array<double, 2> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers.at(i) = node.attribute_or<double>(found->names.at(i), found->defaults.at(i));
  }
  const bool is_of_six = static_cast<float>(numbers[0]) == static_cast<float>(sixth);
  if (found->type == "HardSigmoid" && is_of_six && numbers[1] == 0.5) {
    node.make({"HSigmoid", "opset5"}, std::array{node.operand(0)});
    return;
  }
  const ElementType element = node.type(0).element;
  const Output first = node.number(found->names[0], element, numbers[0]);
  const Output second = node.number(found->names[1], element, numbers[1]);
  node.make({found->type}, std::array{node.operand(0), first, second});
}

bool raise_gelu(RaisedLayer& layer) {
  std::string mode = layer.text("approximation_mode", "ERF");
  std::ranges::transform(mode, mode.begin(), [](char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (mode != "erf" && mode != "tanh") return false;
  layer.make(ops::Gelu::kind, {layer.input(0)},
             {{"approximate", std::string(mode == "tanh" ? "tanh" : "none")}});
  return true;
}

void lower_gelu(LoweredNode& node) {
  const bool is_tanh = node.attribute_or<std::string>("approximate", "none") == "tanh";
  node.make({"Gelu", "opset7"}, std::array{node.operand(0)},
            {{"approximation_mode", is_tanh ? "TANH" : "ERF"}});
}

/// x * sigmoid(x), with a factor inside or not.
bool raise_swish(RaisedLayer& layer) {
  const Value x = layer.input(0);
  const TensorType type = layer.result_type();
  Value inner = x;
  if (layer.input_count() > 1 && layer.constant_number(1) != 1.0) {
    inner = layer.step(ops::Multiply::kind, {x, layer.input(1)}, type, "scaled");
  }
  const Value gate = layer.step(ops::Sigmoid::kind, {inner}, type, "gate");
  layer.make(ops::Multiply::kind, {x, gate});
  return true;
}

/// The operand that is the sigmoid of the other, of a product that alone reads it.
std::optional<std::size_t> gate_of_swish(const NodeRef& product) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Value gate = product.operand(i);
    const NodeRef producer{product.graph, gate.node};
    if (producer.kind() != ops::Sigmoid::kind || producer.graph->uses(gate.node).size() != 1)
      continue;
    if (producer.operand(0) == product.operand(1 - i)) return i;
  }
  return std::nullopt;
}

void lower_multiply(LoweredNode& node) {
  if (node.operand_count() == 2 && node.has(0) && node.has(1)) {
    if (const auto gate = gate_of_swish(node.node())) {
      node.make({"Swish", "opset4"}, std::array{node.operand(1 - *gate)});
      return;
    }
  }
  lower_same(node);
}

// --- slopes --------------------------------------------------------------------------------------

/// OpenVINO lines up a list of slopes with axis 1, ONNX with the last axis.
bool raise_prelu(RaisedLayer& layer) {
  const Value x = layer.input(0);
  Value slope = layer.input(1);
  const Shape& shape = layer.shape_of(x);
  const Shape& slopes = layer.shape_of(slope);
  if (!shape.is_ranked() || !slopes.is_ranked()) return false;
  if (slopes.rank() == 1 && !surely_equal(slopes[0], 1) && shape.rank() > 2) {
    if (!surely_equal(slopes[0], shape[1])) return false;
    std::vector<Extent> extents{slopes[0]};
    extents.resize(static_cast<std::size_t>(shape.rank() - 1), 1);
    slope = layer.reshaped(slope, Shape(std::move(extents)), "slope");
  } else if (slopes.rank() > shape.rank()) {
    // A list of one for a scalar: ONNX's slopes have no more axes than what they multiply.
    const auto more = static_cast<std::size_t>(slopes.rank() - shape.rank());
    const auto extents = slopes.extents();
    const bool is_one = std::ranges::all_of(extents.first(more),
                                            [](Extent extent) { return surely_equal(extent, 1); });
    if (!is_one) return false;
    const auto kept = extents.subspan(more);
    slope = layer.reshaped(slope, Shape(std::vector<Extent>(kept.begin(), kept.end())), "slope");
  }
  layer.make(ops::PRelu::kind, {x, slope});
  return true;
}

/// Whether OpenVINO (in release 2026.4) refuses the model for slopes along other axes than the last
/// behind a product of matrices: it wants to compute both in one loop.
bool follows_matrices(const NodeRef& node) {
  constexpr std::size_t most = 32;  // operations on the way
  std::vector<NodeId> makers{node.operand(0).node};
  for (std::size_t i = 0; i < makers.size(); ++i) {
    const NodeRef maker{node.graph, makers[i]};
    if (maker.kind() == ops::MatMul::kind || maker.kind() == ops::Einsum::kind) return true;
    if (makers.size() > most) return true;
    if (!has_trait(maker, Trait::keeps_shape) && !has_trait(maker, Trait::stretches)) continue;
    for (const Value operand : maker.operands()) {
      if (!operand.is_absent()) makers.push_back(operand.node);
    }
  }
  return false;
}

void lower_prelu(LoweredNode& node) {
  const Shape& shape = node.ranked(0);
  const Shape slopes = node.ranked(1);
  Output slope = node.operand(1);
  if (shape.rank() > 3 && slopes.rank() > 1 && follows_matrices(node.node())) {
    LayerChain chain(node);
    const Output is_below = chain.test({"Less"}, node.operand(0), chain.number(0));
    const Output factor = chain.apply({"Select"}, {is_below, slope, chain.number(1)},
                                      {{"auto_broadcast", "numpy"}}, node.result_type().element);
    node.finish(chain.pair({"Multiply"}, node.operand(0), factor));
    return;
  }
  const auto extents = slopes.extents();
  const bool is_per_channel =
      slopes.is_static() && shape.rank() > 2 && slopes.rank() == shape.rank() - 1 &&
      std::ranges::all_of(extents.subspan(1),
                          [](Extent extent) { return surely_equal(extent, 1); });
  if (is_per_channel) {
    const Shape list{slopes[0]};
    const Constant* known = node.constant(1);
    slope =
        known ? node.constant("slope", known->reshaped(list)) : node.reshaped(slope, list, "slope");
  } else if (slopes.rank() == 1 && shape.rank() > 2 && !surely_equal(slopes[0], 1)) {
    std::vector<Extent> whole(static_cast<std::size_t>(shape.rank()), 1);
    whole.back() = slopes[0];  // a list would be lined up with axis 1
    slope = node.reshaped(slope, Shape(std::move(whole)), "slope");
  }
  node.make({"PReLU"}, std::array{node.operand(0), slope});
}

void lower_leaky_relu(LoweredNode& node) {
  const ElementType element = node.type(0).element;
  const Output scalar = node.number("alpha", element, node.attribute_or<double>("alpha", 0.01F));
  const Output slope = node.reshaped(scalar, Shape{1}, "slope");
  node.make({"PReLU"}, std::array{node.operand(0), slope});
}

// --- conversions ---------------------------------------------------------------------------------

bool raise_round(RaisedLayer& layer) {
  if (layer.text("mode", "half_to_even") != "half_to_even") return false;
  layer.make(ops::Round::kind, {layer.input(0)});
  return true;
}

void lower_round(LoweredNode& node) {
  node.make({"Round", "opset5"}, std::array{node.operand(0)}, {{"mode", "half_to_even"}});
}

bool raise_convert(RaisedLayer& layer) {
  const ElementType to = layer.type() == "ConvertLike" ? layer.type_of(layer.input(1)).element
                                                       : layer.element("destination_type");
  const std::int64_t number = element_type_number(to);
  if (number == 0) return false;
  layer.make(ops::Cast::kind, {layer.input(0)}, {{"to", number}});
  return true;
}

/// Whether casts take an input there and back. OpenVINO (in release 2026.4) takes them out, and
/// where extents are open, goes on reading the array of an earlier call.
bool gives_an_input_back(NodeRef node) {
  constexpr int most = 16;  // operations on the way
  const ElementType made = node.type().element;
  for (int i = 0; i < most && node.kind() != ops::Input::kind; ++i) {
    const bool passes = node.kind() == ops::Cast::kind || node.kind() == ops::CastLike::kind ||
                        node.kind() == ops::Identity::kind || node.kind() == ops::Dropout::kind ||
                        has_trait(node, Trait::keeps_elements);
    if (!passes || node.operand(0).is_absent()) return false;
    node = {node.graph, node.operand(0).node};
  }
  return node.kind() == ops::Input::kind && is_float(made) && node.type().element == made &&
         !node.type().shape.is_static();
}

void make_cast(LoweredNode& node, const OpName& op, std::span<const Output> inputs,
               const Data& data = {}) {
  if (gives_an_input_back(node.node())) {
    node.finish(
        kept_apart(node, node.step(op, inputs, data, node.result_type(), "there_and_back")));
  } else {
    node.make(op, inputs, data);
  }
}

void lower_cast(LoweredNode& node) {
  const auto to = ops::Cast{node.node()}.to();
  if (!to || name_of(*to).empty()) impossible("a type that OpenVINO has no name for");
  make_cast(node, {"Convert"}, std::array{node.operand(0)},
            {{"destination_type", std::string(name_of(*to))}});
}

void lower_cast_like(LoweredNode& node) {
  make_cast(node, {"ConvertLike"}, std::array{node.operand(0), node.operand(1)});
}

void lower_alias(LoweredNode& node) { node.alias(node.operand(0)); }

constexpr auto raised_elementwise = [] {
  constexpr std::array others{
      RaiseRule{"Clamp", raise_clamp},
      RaiseRule{"Convert", raise_convert},
      RaiseRule{"ConvertLike", raise_convert},
      RaiseRule{"Divide", raise_divide},
      RaiseRule{"Elu", raise_elu},
      RaiseRule{"FloorMod", raise_remainder},
      RaiseRule{"Gelu", raise_gelu},
      RaiseRule{"HSigmoid", raise_hard_sigmoid_of_six},
      RaiseRule{"HardSigmoid", raise_scaled},
      RaiseRule{"Mod", raise_remainder},
      RaiseRule{"PReLU", raise_prelu},
      RaiseRule{"Round", raise_round},
      RaiseRule{"Selu", raise_scaled},
      RaiseRule{"SquaredDifference", raise_squared_difference},
      RaiseRule{"Swish", raise_swish},
  };
  std::array<RaiseRule, same_operations.size() + others.size()> rows{};
  std::size_t next = 0;
  for (const SameOperation& same : same_operations) rows.at(next++) = {same.type, raise_same};
  for (const RaiseRule& other : others) rows.at(next++) = other;
  return rows;
}();

constexpr auto lowered_elementwise = [] {
  constexpr std::array others{
      LowerRule{ops::Multiply::kind, lower_multiply},
      LowerRule{ops::Clip::kind, lower_clip},
      LowerRule{ops::Div::kind, lower_divide},
      LowerRule{ops::Elu::kind, lower_elu},
      LowerRule{ops::Gelu::kind, lower_gelu},
      LowerRule{ops::HardSigmoid::kind, lower_scaled},
      LowerRule{ops::LeakyRelu::kind, lower_leaky_relu},
      LowerRule{ops::Mod::kind, lower_remainder},
      LowerRule{ops::PRelu::kind, lower_prelu},
      LowerRule{ops::Round::kind, lower_round},
      LowerRule{ops::Selu::kind, lower_scaled},
      LowerRule{ops::Cast::kind, lower_cast},
      LowerRule{ops::CastLike::kind, lower_cast_like},
      LowerRule{ops::Identity::kind, lower_alias},
      LowerRule{ops::Dropout::kind, lower_alias},
  };
  std::array<LowerRule, same_operations.size() + others.size()> rows{};
  std::size_t next = 0;
  for (const LowerRule& other : others) rows.at(next++) = other;  // these go first
  for (const SameOperation& same : same_operations) rows.at(next++) = {same.kind, lower_same};
  return rows;
}();

}  // namespace

Rules elementwise_rules() noexcept { return {raised_elementwise, lowered_elementwise}; }

}  // namespace quadrant::inline v0::openvino_ir
