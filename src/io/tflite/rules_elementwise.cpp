// Arithmetic, comparisons and logic.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/tflite/element.hpp"
#include "io/tflite/elementwise.hpp"
#include "io/tflite/extents.hpp"
#include "io/tflite/failure.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"
#include "targets/kernels/litert_rules.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// Has a FULLY_CONNECTED that computes one of the summands, and nothing else, add the other.
bool add_as_bias(Lowering& lowering, const NodeRef& node) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    const Value product = node.operand(at);
    const Value bias = node.operand(1 - at);
    if (!lowering.is_free(bias) || lowering.is_free(product)) continue;
    const TensorType& type = lowering.type(product);
    const Shape& shape = lowering.ranked(bias);
    if (type.element != ElementType::float32 || type.shape.rank() < 1 || shape.rank() != 1 ||
        !surely_equal(shape[0], type.shape[type.shape.rank() - 1])) {
      continue;
    }
    const Axes axes = lowering.axes(product);
    const TensorId tensor = lowering.tensor(product, axes);
    schema::OperatorT* op = lowering.model().producer(tensor);
    const auto* options = op ? op->builtin_options.AsFullyConnectedOptions() : nullptr;
    if (!options || op->inputs.size() != 3 || op->inputs[2] != no_tensor ||
        options->fused_activation_function != schema::ActivationFunctionType::NONE ||
        !lowering.has_one_use(product)) {
      continue;
    }
    op->inputs[2] = lowering.plain(bias);
    lowering.settle(node.result(), type.element, type.shape);
    lowering.model().tensor(tensor).name = lowering.graph().value_name(node.result());
    lowering.alias(node.result(), tensor, axes);
    return true;
  }
  return false;
}

/// Whether sums, or products, of two bytes fit into what the kernel has for them.
template <BuiltinOperator code>
bool has_room(const NodeRef& node) {
  const TensorType& result = node.type();
  if (!result.is_quantized() || bit_width(result.element) > 8) return true;
  const auto scale_of = [](const TensorType& type) {
    return std::abs(static_cast<double>(value_of(read_scales(type.quantization)).front()));
  };
  // As the fusion computes them.
  const double step = scale_of(result);
  double product = 1;
  double sum = 0;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* const type = node.operand_type(i);
    if (type == nullptr || !type->is_quantized()) return true;
    product *= scale_of(*type);
    sum += scale_of(*type) / step;
  }
  return (code == MUL ? product / step : sum) <= litert_kernel(code).room.of_8_bits;
}

/// Whether the kernel does with the operand's codes what this node does.
bool is_computed_so(const NodeRef& node) {
  const auto* const rule = target_kernels::find_rule(target_kernels::litert::rules, node.kind());
  const auto codes = GivenForm::of(uniform_of(node.operand_type(0)->quantization));
  return codes && rule->refusal(node, *codes, *codes) == nullptr;
}

void lower_add(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  if (!add_as_bias(lowering, node)) lower_broadcasting(lowering, node, rule);
}

/// Any number of operands, two at a time.
void lower_variadic(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const std::vector<Value> operands(node.operands().begin(), node.operands().end());
  const bool is_mean = node.kind() == ops::Mean::kind;
  Shape shape = Shape::scalar();
  for (const Value operand : operands) {
    shape = broadcast_shape(shape, lowering.ranked(operand));
  }
  const TensorType first = lowering.type(operands.front());
  lowering.settle(node.result(), first.element, shape);
  if (operands.size() == 1) {
    lowering.alias(node.result(), operands.front());
    return;
  }
  const Axes axes = lowering.common_axes(operands, shape.rank());
  const Shape ones(std::vector<std::int64_t>(axes.size(), 1));
  Shape so_far = lowering.ranked(operands.front());
  TensorType partial = lowering.type(node.result());
  Model& model = lowering.model();
  TensorId sum = lowering.broadcast(operands.front(), axes);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    so_far = broadcast_shape(so_far, lowering.ranked(operands[i]));
    partial.shape =
        axes == plain_axes(shape.rank()) ? so_far : arranged(broadcast_shape(ones, so_far), axes);
    const TensorId next = lowering.broadcast(operands[i], axes);
    const bool is_last = i + 1 == operands.size() && !is_mean;
    const TensorId to = is_last ? lowering.define(node.result(), axes)
                                : lowering.temporary(node, fmt::format("partial_{}", i), partial);
    emit_elementwise(model, rule.code, {sum, next}, to);
    sum = to;
  }
  if (is_mean) {
    const TensorId share = model.real(1.0F / static_cast<float>(operands.size()));
    emit_elementwise(model, MUL, {sum, share}, lowering.define(node.result(), axes));
  }
}

void lower_reciprocal(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  lowering.settle(node.result(), lowering.type(operand).element, lowering.ranked(operand));
  const Axes axes = lowering.axes(operand);
  const TensorId from = lowering.tensor(operand, axes);
  const TensorId one = lowering.model().real(1.0F);
  emit_elementwise(lowering.model(), rule.code, {one, from}, lowering.define(node.result(), axes));
}

/// int64 has no ABS.
bool is_large(const Lowering& lowering, const NodeRef& node) {
  return lowering.type(node.operand(0)).element == ElementType::int64;
}

BuiltinOperator abs_kernel(const Lowering& lowering, const NodeRef& node) {
  return is_large(lowering, node) ? NEG : ABS;
}

void lower_abs(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  if (!is_large(lowering, node)) {
    lower_unary(lowering, node, rule);
    return;
  }
  const Value operand = node.operand(0);
  lowering.settle(node.result(), lowering.type(operand).element, lowering.ranked(operand));
  lowering.decomposed(node, "NEG and MAXIMUM");
  const Axes axes = lowering.axes(operand);
  const TensorId from = lowering.tensor(operand, axes);
  TensorType type = lowering.type(operand);
  type.shape = arranged(type.shape, axes);
  const TensorId negative = lowering.temporary(node, "negative", type);
  emit_elementwise(lowering.model(), NEG, {from}, negative);
  emit_elementwise(lowering.model(), MAXIMUM, {from, negative},
                   lowering.define(node.result(), axes));
}

void lower_modulo(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  if (node.attribute_or<std::int64_t>("fmod", 0) == 0) {
    lower_broadcasting(lowering, node, rule);
    return;
  }
  // The remainder has the sign of the dividend, TFLite's that of the divisor.
  const std::vector<Value> operands(node.operands().begin(), node.operands().end());
  const TensorType type = lowering.type(operands.front());
  if (type.element != ElementType::float32) impossible("fmod of integers");
  const Shape shape = broadcast_shape(lowering.ranked(operands[0]), lowering.ranked(operands[1]));
  lowering.settle(node.result(), type.element, shape);
  lowering.decomposed(node, "ABS, FLOOR_MOD, SIGN and MUL");
  const Axes axes = lowering.common_axes(operands, shape.rank());
  const TensorId dividend = lowering.broadcast(operands[0], axes);
  const TensorId divisor = lowering.broadcast(operands[1], axes);
  Model& model = lowering.model();
  const auto part = [&](BuiltinOperator code, Tensors of, const Shape& extents) {
    const TensorId to = lowering.temporary(node, "part", {type.element, extents, nullptr});
    emit_elementwise(model, code, std::move(of), to);
    return to;
  };
  const auto shape_of_tensor = [&](const Value& value) {
    const Shape& own = lowering.shape(value);
    return own.rank() == shape.rank() ? arranged(own, axes) : own;
  };
  const Shape first = shape_of_tensor(operands[0]);
  const TensorId rest = part(
      rule.code, {part(ABS, {dividend}, first), part(ABS, {divisor}, shape_of_tensor(operands[1]))},
      arranged(shape, axes));
  const TensorId sign = part(SIGN, {dividend}, first);
  emit_elementwise(model, MUL, {rest, sign}, lowering.define(node.result(), axes));
}

/// scale * (x - mean) / sqrt(variance + epsilon) + bias, with the constants put together.
void lower_batch_normalization(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  if (node.attribute_or<std::int64_t>("training_mode", 0) != 0) impossible("the mode of training");
  if (node.attribute_or<std::int64_t>("spatial", 1) == 0) impossible("a mean for each pixel");
  if (shape.rank() < 2) impossible("an operand without channels");
  const std::vector<float> scale = lowering.reals(node.operand(1));
  const std::vector<float> bias = lowering.reals(node.operand(2));
  const std::vector<float> mean = lowering.reals(node.operand(3));
  const std::vector<float> variance = lowering.reals(node.operand(4));
  const std::size_t channels = scale.size();
  if (bias.size() != channels || mean.size() != channels || variance.size() != channels) {
    invalid("parameters of different lengths");
  }
  const auto epsilon = node.attribute_or<double>("epsilon", 1e-5);
  std::vector<float> factors;
  std::vector<float> summands;
  for (std::size_t i = 0; i < channels; ++i) {
    const double factor =
        static_cast<double>(scale[i]) / std::sqrt(static_cast<double>(variance[i]) + epsilon);
    factors.push_back(static_cast<float>(factor));
    summands.push_back(
        static_cast<float>(static_cast<double>(bias[i]) - factor * static_cast<double>(mean[i])));
  }
  lowering.settle(node.result(), lowering.type(data).element, shape);
  lowering.decomposed(node, "MUL and ADD");
  const Axes axes = lowering.axes(data);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()), 1);
  extents[1] = static_cast<std::int64_t>(channels);
  Model& model = lowering.model();
  const auto constant = [&](std::string_view what, const std::vector<float>& values) {
    return model.add_constant(
        lowering.name(node, what),
        Constant::from_values(ElementType::float32, Shape(extents), std::span<const float>(values)),
        nullptr, axes);
  };
  const TensorId from = lowering.tensor(data, axes);
  const TensorId product =
      lowering.temporary(node, "scaled", {ElementType::float32, arranged(shape, axes), nullptr});
  emit_elementwise(model, MUL, {from, constant("factors", factors)}, product);
  const TensorId summand = constant("summands", summands);
  emit_elementwise(model, ADD, {product, summand}, lowering.define(node.result(), axes));
}

constexpr std::array elementwise_rows{
    Rule{.kind = ops::Add::kind,
         .lower = lower_add,
         .code = ADD,
         .codes = Codes::all,
         .elements = 2,
         .fits = has_room<ADD>},
    Rule{.kind = ops::Multiply::kind,
         .lower = lower_broadcasting,
         .code = MUL,
         .codes = Codes::all,
         .elements = 2,
         .fits = has_room<MUL>},
    Rule{.kind = ops::Sub::kind,
         .lower = lower_broadcasting,
         .code = SUB,
         .codes = Codes::all,
         .elements = 2,
         .fits = has_room<SUB>},
    Rule{.kind = ops::Div::kind, .lower = lower_broadcasting, .code = DIV, .elements = 2},
    Rule{.kind = ops::Pow::kind, .lower = lower_broadcasting, .code = POW, .elements = 2},
    Rule{.kind = ops::PRelu::kind,
         .lower = lower_broadcasting,
         .code = PRELU,
         .codes = Codes::all,
         .elements = 2},
    Rule{.kind = ops::Mod::kind, .lower = lower_modulo, .code = FLOOR_MOD, .elements = 2},
    Rule{.kind = ops::Max::kind,
         .lower = lower_variadic,
         .code = MAXIMUM,
         .codes = Codes::all,
         .elements = 2,
         .same = true},
    Rule{.kind = ops::Min::kind,
         .lower = lower_variadic,
         .code = MINIMUM,
         .codes = Codes::all,
         .elements = 2,
         .same = true},
    Rule{.kind = ops::Sum::kind, .lower = lower_variadic, .code = ADD},
    Rule{.kind = ops::Mean::kind, .lower = lower_variadic, .code = ADD},
    Rule{.kind = ops::Where::kind,
         .lower = lower_broadcasting,
         .code = SELECT_V2,
         .codes = Codes::all,
         .first = 1,
         .elements = 3,
         .same = true},
    Rule{.kind = ops::Equal::kind,
         .lower = lower_broadcasting,
         .code = EQUAL,
         .codes = Codes::operands,
         .elements = 2,
         .fits = is_computed_so},
    Rule{.kind = ops::Greater::kind,
         .lower = lower_broadcasting,
         .code = GREATER,
         .codes = Codes::operands,
         .elements = 2,
         .fits = is_computed_so},
    Rule{.kind = ops::GreaterOrEqual::kind,
         .lower = lower_broadcasting,
         .code = GREATER_EQUAL,
         .codes = Codes::operands,
         .elements = 2,
         .fits = is_computed_so},
    Rule{.kind = ops::Less::kind,
         .lower = lower_broadcasting,
         .code = LESS,
         .codes = Codes::operands,
         .elements = 2,
         .fits = is_computed_so},
    Rule{.kind = ops::LessOrEqual::kind,
         .lower = lower_broadcasting,
         .code = LESS_EQUAL,
         .codes = Codes::operands,
         .elements = 2,
         .fits = is_computed_so},
    Rule{.kind = ops::And::kind, .lower = lower_broadcasting, .code = LOGICAL_AND, .elements = 2},
    Rule{.kind = ops::Or::kind, .lower = lower_broadcasting, .code = LOGICAL_OR, .elements = 2},
    Rule{.kind = ops::Xor::kind, .lower = lower_broadcasting, .code = NOT_EQUAL},
    Rule{.kind = ops::Not::kind, .lower = lower_unary, .code = LOGICAL_NOT, .elements = 1},
    Rule{.kind = ops::Abs::kind,
         .lower = lower_abs,
         .code = ABS,
         .codes = Codes::all,
         .elements = 1,
         .kernel = abs_kernel},
    Rule{.kind = ops::Exp::kind,
         .lower = lower_unary,
         .code = EXP,
         .codes = Codes::all,
         .elements = 1},
    Rule{.kind = ops::Log::kind,
         .lower = lower_unary,
         .code = LOG,
         .codes = Codes::all,
         .elements = 1},
    Rule{.kind = ops::Sqrt::kind,
         .lower = lower_unary,
         .code = SQRT,
         .codes = Codes::all,
         .elements = 1,
         .fits = is_computed_so},
    Rule{.kind = ops::Neg::kind, .lower = lower_unary, .code = NEG, .elements = 1},
    Rule{.kind = ops::Ceil::kind, .lower = lower_unary, .code = CEIL, .elements = 1},
    Rule{.kind = ops::Floor::kind, .lower = lower_unary, .code = FLOOR, .elements = 1},
    Rule{.kind = ops::Round::kind, .lower = lower_unary, .code = ROUND, .elements = 1},
    Rule{.kind = ops::Sin::kind, .lower = lower_unary, .code = SIN, .elements = 1},
    Rule{.kind = ops::Cos::kind, .lower = lower_unary, .code = COS, .elements = 1},
    Rule{.kind = ops::Reciprocal::kind, .lower = lower_reciprocal, .code = DIV},
    Rule{.kind = ops::BatchNormalization::kind, .lower = lower_batch_normalization},
};

}  // namespace

std::span<const Rule> elementwise_rules() noexcept { return elementwise_rows; }

}  // namespace quadrant::inline v0::tflite
