// Activations: fused into what computes their operand where that is the same, else operators.
#include <algorithm>
#include <array>
#include <limits>

#include "io/tflite/elementwise.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/number.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/opset.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;
using schema::ActivationFunctionType;

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Bounds {
  float lowest = -infinity;
  float highest = infinity;
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

/// Bounds that TFLite has an operator for, and those that are an activation.
struct KnownBounds {
  Bounds bounds;
  BuiltinOperator code = RELU;
  ActivationFunctionType activation = ActivationFunctionType::NONE;
};

constexpr std::array known_bounds{
    KnownBounds{{0.0F, infinity}, RELU, ActivationFunctionType::RELU},
    KnownBounds{{0.0F, 6.0F}, RELU6, ActivationFunctionType::RELU6},
    KnownBounds{{-1.0F, 1.0F}, RELU_N1_TO_1, ActivationFunctionType::RELU_N1_TO_1},
    KnownBounds{{0.0F, 1.0F}, RELU_0_TO_1, ActivationFunctionType::NONE},
};

float bound(const Lowering& lowering, const NodeRef& node, std::size_t operand,
            std::string_view attribute, float fallback) {
  const Value value = node.operand(operand);
  if (!value.is_absent()) {
    const std::vector<float> values = lowering.reals(value);
    if (values.size() != 1) invalid("a bound that is not one number");
    return values.front();
  }
  return static_cast<float>(node.attribute_or<double>(attribute, static_cast<double>(fallback)));
}

void clamp(Lowering& lowering, const NodeRef& node, const Bounds& bounds) {
  const Value operand = node.operand(0);
  const Value result = node.result();
  lowering.settle(result, lowering.type(operand).element, lowering.ranked(operand));
  const auto known = std::ranges::find(known_bounds, bounds, &KnownBounds::bounds);
  const bool is_known = known != known_bounds.end();
  if (is_known && known->activation != ActivationFunctionType::NONE &&
      lowering.fuse(known->activation, operand, result)) {
    return;
  }
  const Axes axes = lowering.axes(operand);
  TensorId value = lowering.tensor(operand, axes);
  Model& model = lowering.model();
  const TensorType type = lowering.type(operand);
  const bool has_kernel =
      type.is_quantized() ? is_known && litert_kernel(known->code).takes_codes(type.quantization)
                          : type.element == ElementType::float32;
  if (is_known && has_kernel) {
    model.emit({known->code}, {value}, {lowering.define(result, axes)});
    return;
  }
  // MAXIMUM and MINIMUM keep the parameters, which the result may not have.
  TensorType clamped = type;
  clamped.shape = arranged(type.shape, axes);
  const bool has_lowest = bounds.lowest > -infinity;
  const bool has_highest = bounds.highest < infinity;
  const bool is_same = have_same_parameters(type, lowering.type(result));
  if (!has_lowest && !has_highest && is_same) {
    lowering.alias(result, operand);
    return;
  }
  const auto apply = [&](BuiltinOperator code, float limit, bool is_last) {
    const TensorId to = is_last && is_same ? lowering.define(result, axes)
                                           : lowering.temporary(node, "clamped", clamped);
    model.emit({code}, {value, number_tensor(lowering, node, "bound", type, limit)}, {to},
               schema::MaximumMinimumOptionsT{});
    value = to;
  };
  if (has_lowest) apply(MAXIMUM, bounds.lowest, !has_highest);
  if (has_highest) apply(MINIMUM, bounds.highest, true);
  if (!is_same) {
    model.emit({QUANTIZE}, {value}, {lowering.define(result, axes)}, schema::QuantizeOptionsT{});
  }
}

void lower_relu(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  clamp(lowering, node, {0.0F, infinity});
}

BuiltinOperator clamp_kernel(const Lowering& lowering, const NodeRef& node) {
  const TensorType& type = lowering.type(node.operand(0));
  return type.is_quantized() || type.element == ElementType::float32 ? RELU : MAXIMUM;
}

/// With the bounds as they are: floats do not hold all integers, and bounds may be computed.
void clamp_by_operands(Lowering& lowering, const NodeRef& node) {
  const Value operand = node.operand(0);
  const Value result = node.result();
  const TensorType type = lowering.type(operand);
  lowering.settle(result, type.element, lowering.ranked(operand));
  const bool has_highest = !node.operand(2).is_absent();
  if (node.operand(1).is_absent() && !has_highest) {
    lowering.alias(result, operand);
    return;
  }
  const Axes axes = lowering.axes(operand);
  TensorId value = lowering.tensor(operand, axes);
  TensorType clamped = type;
  clamped.shape = arranged(type.shape, axes);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (node.operand(i).is_absent()) continue;
    const bool is_last = i == 2 || !has_highest;
    const TensorId limit = lowering.plain(node.operand(i));
    const TensorId to =
        is_last ? lowering.define(result, axes) : lowering.temporary(node, "clamped", clamped);
    emit_elementwise(lowering.model(), i == 1 ? MAXIMUM : MINIMUM, {value, limit}, to);
    value = to;
  }
}

void lower_clip(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const TensorType& type = lowering.type(node.operand(0));
  const auto is_computed = [&](std::size_t i) {
    return !node.operand(i).is_absent() && !lowering.is_free(node.operand(i));
  };
  const bool is_real = type.element == ElementType::float32;
  if (!type.is_quantized() && (!is_real || is_computed(1) || is_computed(2))) {
    clamp_by_operands(lowering, node);
    return;
  }
  constexpr float largest = std::numeric_limits<float>::max();
  Bounds bounds{bound(lowering, node, 1, "min", -infinity),
                bound(lowering, node, 2, "max", infinity)};
  if (bounds.lowest <= -largest) bounds.lowest = -infinity;
  if (bounds.highest >= largest) bounds.highest = infinity;
  clamp(lowering, node, bounds);
}

/// Of real numbers an operator; integers are between -1 and 1.
void lower_sign(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  if (lowering.type(node.operand(0)).element == ElementType::float32) {
    lower_unary(lowering, node, rule);
  } else {
    clamp(lowering, node, {-1.0F, 1.0F});
  }
}

BuiltinOperator sign_kernel(const Lowering& lowering, const NodeRef& node) {
  return lowering.type(node.operand(0)).element == ElementType::float32 ? SIGN : MAXIMUM;
}

void lower_leaky_relu(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  lowering.settle(node.result(), lowering.type(operand).element, lowering.ranked(operand));
  const Axes axes = lowering.axes(operand);
  const TensorId from = lowering.tensor(operand, axes);
  schema::LeakyReluOptionsT options;
  options.alpha = static_cast<float>(node.attribute_or<double>("alpha", 0.01));
  lowering.model().emit({rule.code}, {from}, {lowering.define(node.result(), axes)}, options);
}

void lower_gelu(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  lowering.settle(node.result(), lowering.type(operand).element, lowering.ranked(operand));
  const Axes axes = lowering.axes(operand);
  const TensorId from = lowering.tensor(operand, axes);
  schema::GeluOptionsT options;
  options.approximate = node.attribute_or<std::string>("approximate", "none") == "tanh";
  lowering.model().emit({rule.code}, {from}, {lowering.define(node.result(), axes)}, options);
}

void emit_softmax(Model& model, BuiltinOperator code, TensorId from, TensorId to) {
  schema::OperatorT& made = model.emit({code}, {from}, {to});
  if (code == SOFTMAX) {
    schema::SoftmaxOptionsT options;
    options.beta = 1.0F;
    made.builtin_options.Set(options);
  }
}

/// One sum over all axes from `axis` on, as if they were one.
void lower_joint_softmax(Lowering& lowering, const NodeRef& node, BuiltinOperator code,
                         std::int64_t axis) {
  const Value operand = node.operand(0);
  const Value result = node.result();
  const Shape shape = lowering.shape(operand);
  std::vector<std::int64_t> extents{1, 1};
  for (std::int64_t i = 0; i < shape.rank(); ++i) extents[i < axis ? 0 : 1] *= shape[i].value();
  const auto flat = [&](TensorType type) {
    type.shape = Shape(extents);
    return type;
  };
  const TensorId from = lowering.temporary(node, "flat", flat(lowering.type(operand)));
  const TensorId to = lowering.temporary(node, "flat_result", flat(lowering.type(result)));
  lowering.reshape(lowering.in_plain_order(operand), from);
  emit_softmax(lowering.model(), code, from, to);
  lowering.reshape(to, lowering.define(result, plain_axes(shape.rank())));
}

void lower_softmax(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  const Shape shape = lowering.ranked(operand);
  const bool is_joint = opset_version(lowering.graph()) < 13;  // over all axes from `axis` on
  const auto axis =
      normalize_axis(node.attribute_or<std::int64_t>("axis", is_joint ? 1 : -1), shape.rank());
  if (!axis) impossible("an axis outside of the operand");
  lowering.settle(node.result(), lowering.type(operand).element, shape);
  const auto rest = shape.extents().subspan(static_cast<std::size_t>(*axis) + 1);
  if (is_joint &&
      std::ranges::any_of(rest, [](Extent extent) { return !surely_equal(extent, 1); })) {
    if (!shape.is_static()) impossible("one sum over several axes of unknown extents");
    lower_joint_softmax(lowering, node, rule.code, *axis);
    return;
  }
  // TFLite sums over the last axis.
  Axes axes = lowering.axes(operand);
  if (axes.back() != *axis) {
    axes = plain_axes(shape.rank());
    axes.erase(axes.begin() + *axis);
    axes.push_back(static_cast<std::int32_t>(*axis));
  }
  const TensorId from = lowering.tensor(operand, axes);
  emit_softmax(lowering.model(), rule.code, from, lowering.define(node.result(), axes));
}

constexpr std::array activation_rows{
    Rule{.kind = ops::Relu::kind,
         .lower = lower_relu,
         .code = RELU,
         .codes = Codes::all,
         .elements = 1,
         .kernel = clamp_kernel},
    Rule{.kind = ops::Clip::kind,
         .lower = lower_clip,
         .codes = Codes::all,
         .data = 1,
         .kernel = clamp_kernel},
    Rule{.kind = ops::Sign::kind,
         .lower = lower_sign,
         .code = SIGN,
         .elements = 1,
         .kernel = sign_kernel},
    Rule{.kind = ops::LeakyRelu::kind,
         .lower = lower_leaky_relu,
         .code = LEAKY_RELU,
         .codes = Codes::all},
    Rule{.kind = ops::Gelu::kind, .lower = lower_gelu, .code = GELU, .codes = Codes::all},
    Rule{.kind = ops::HardSwish::kind,
         .lower = lower_unary,
         .code = HARD_SWISH,
         .codes = Codes::all,
         .elements = 1},
    Rule{.kind = ops::Sigmoid::kind,
         .lower = lower_unary,
         .code = LOGISTIC,
         .codes = Codes::all,
         .elements = 1},
    Rule{.kind = ops::Tanh::kind,
         .lower = lower_unary,
         .code = TANH,
         .codes = Codes::all,
         .elements = 1},
    Rule{.kind = ops::Softmax::kind, .lower = lower_softmax, .code = SOFTMAX, .codes = Codes::all},
    Rule{.kind = ops::LogSoftmax::kind,
         .lower = lower_softmax,
         .code = LOG_SOFTMAX,
         .codes = Codes::all},
};

}  // namespace

std::span<const Rule> activation_rules() noexcept { return activation_rows; }

}  // namespace quadrant::inline v0::tflite
