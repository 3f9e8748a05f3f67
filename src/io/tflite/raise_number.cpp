// What computes numbers: one element after the other, products, sums, and conversions of codes.
#include <algorithm>
#include <array>

#include "io/tflite/element.hpp"
#include "io/tflite/extents.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/raise.hpp"
#include "io/tflite/rules.hpp"
#include "io/tflite/steps.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// The order in which an operation takes operands that broadcast: that of the first that is
/// computed, if all have the result's rank; else the plain one.
Axes broadcasting_axes(const Raising& raising, const RaisedOp& op) {
  const std::int64_t rank = raising.rank(op.output());
  Axes axes = plain_axes(rank);
  for (std::size_t i = op.input_count(); i-- > 0;) {
    const TensorId id = op.input(i);
    const bool is_single = raising.rank(id) == 0;
    if (raising.rank(id) != rank && !is_single) return plain_axes(rank);
    if (!is_single && !raising.is_free(id)) axes = raising.axes(id);
  }
  return axes;
}

/// Operand `i` where the result is in the order `axes`.
Value broadcast_operand(Raising& raising, const RaisedOp& op, std::size_t i, const Axes& axes) {
  const TensorId id = op.input(i);
  return raising.rank(id) == raising.rank(op.output()) ? raising.value(id, axes)
                                                       : raising.plain(id);
}

schema::ActivationFunctionType activation_in(const RaisedOp& op) {
  if (const auto* sum = op.op->builtin_options_as_AddOptions()) {
    return sum->fused_activation_function();
  }
  if (const auto* difference = op.op->builtin_options_as_SubOptions()) {
    return difference->fused_activation_function();
  }
  if (const auto* product = op.op->builtin_options_as_MulOptions()) {
    return product->fused_activation_function();
  }
  if (const auto* quotient = op.op->builtin_options_as_DivOptions()) {
    return quotient->fused_activation_function();
  }
  return schema::ActivationFunctionType::NONE;
}

/// An operator of one operand, whose kind and attributes are given.
bool add_unary(Raising& raising, const RaisedOp& op, std::string_view kind,
               Attributes attributes = {}) {
  const TensorId data = op.input(0);
  if (data == no_tensor || raising.rank(data) != raising.rank(op.output())) return false;
  const Axes axes = raising.axes(data);
  raising.add(kind, {raising.value(data, axes)}, op.output(), axes, std::move(attributes));
  return true;
}

bool raise_leaky_relu(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_LeakyReluOptions();
  return options != nullptr && add_unary(raising, op, ops::LeakyRelu::kind,
                                         {{"alpha", static_cast<double>(options->alpha())}});
}

bool raise_elu(Raising& raising, const RaisedOp& op) {
  return add_unary(raising, op, ops::Elu::kind);
}

bool raise_gelu(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_GeluOptions();
  const bool approximate = options != nullptr && options->approximate();
  return add_unary(raising, op, ops::Gelu::kind,
                   {{"approximate", std::string(approximate ? "tanh" : "none")}});
}

bool raise_clip(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  if (data == no_tensor || raising.rank(data) != raising.rank(op.output())) return false;
  struct Bounds {
    BuiltinOperator code;
    float lowest;
    float highest;
  };
  constexpr std::array bounds{Bounds{BuiltinOperator::RELU6, 0.0F, 6.0F},
                              Bounds{BuiltinOperator::RELU_N1_TO_1, -1.0F, 1.0F},
                              Bounds{BuiltinOperator::RELU_0_TO_1, 0.0F, 1.0F}};
  const Bounds& found = *std::ranges::find(bounds, op.code, &Bounds::code);
  const auto constant = [&](std::string_view which, float value) {
    return raising.graph().add_constant(fmt::format("{}_{}", raising.name(op.output()), which),
                                        Constant::from_values(ElementType::float32, Shape::scalar(),
                                                              std::span<const float>(&value, 1)));
  };
  const Axes axes = raising.axes(data);
  const Value value = raising.value(data, axes);
  const Value lowest = constant("lowest", found.lowest);
  raising.add(ops::Clip::kind, {value, lowest, constant("highest", found.highest)}, op.output(),
              axes);
  return true;
}

// Of other bits, the kernel has fewer codes than a const_fake_quant.
bool raise_fake_quant(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_FakeQuantOptions();
  if (options == nullptr || (options->num_bits() != 8 && options->num_bits() != 16)) return false;
  const FakeQuantRange range{options->min(), options->max(), options->num_bits()};
  if (!check(range)) return false;
  return add_unary(raising, op, ops::ConstFakeQuant::kind,
                   {{"min", range.min},
                    {"max", range.max},
                    {"num_bits", range.num_bits},
                    {"narrow_range", std::int64_t{options->narrow_range() ? 1 : 0}}});
}

bool raise_softmax(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const bool is_log = op.code == BuiltinOperator::LOG_SOFTMAX;
  const auto* options = op.op->builtin_options_as_SoftmaxOptions();
  if (data == no_tensor || raising.rank(data) < 1) return false;
  if (!is_log && !options) return false;
  const Axes axes = raising.axes(data);
  const Attributes attributes{{"axis", std::int64_t{axes.back()}}};
  if (is_log || options->beta() == 1.0F) {
    return add_unary(raising, op, is_log ? ops::LogSoftmax::kind : ops::Softmax::kind, attributes);
  }
  if (raising.rank(op.output()) != raising.rank(data)) return false;
  Steps steps(raising, op.output());
  Value value = raising.value(data, axes);
  const auto beta = static_cast<double>(options->beta());
  if (raising.type(data).is_quantized()) {
    // The kernel multiplies the scale.
    const auto codes = uniform_of(raising.type(data).quantization);
    if (!(beta > 0) || !GivenForm::of(codes)) return false;
    UniformType steeper = *codes;
    std::vector<float> scales = value_of(read_scales(steeper.scales));
    for (float& scale : scales) scale *= options->beta();
    steeper.scales = make_scales(ElementType::float32, steeper.scales.shape(), scales);
    value = raising.relabelled(value, std::make_shared<const UniformType>(std::move(steeper)),
                               raising.name(op.output()));
  } else {
    value = steps.apply(ops::Multiply::kind, {value, steps.number(beta, data)});
  }
  raising.add(ops::Softmax::kind, {value}, op.output(), axes, attributes);
  return true;
}

bool raise_cast(Raising& raising, const RaisedOp& op) {
  const TensorType& to = raising.type(op.output());
  const std::int64_t number = element_type_number(to.element);
  if (op.input(0) == no_tensor || to.is_quantized() || number == 0) return false;
  return add_unary(raising, op, ops::Cast::kind, {{"to", number}});
}

bool raise_arg(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto given = raising.integers(op.input(1));
  if (data == no_tensor || !given || given->size() != 1) return false;
  const auto axis = normalize_axis(given->front(), raising.rank(data));
  if (!axis) invalid(fmt::format("axis {} of {}", given->front(), raising.rank(data)));
  if (raising.rank(op.output()) + 1 != raising.rank(data)) return false;
  return raising.add_wide(
      op.code == BuiltinOperator::ARG_MAX ? ops::ArgMax::kind : ops::ArgMin::kind,
      {raising.plain(data)}, op.output(), {{"axis", *axis}, {"keepdims", std::int64_t{0}}});
}

/// QUANTIZE, from real values or from other codes.
bool raise_quantize(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  if (data == no_tensor || raising.rank(data) != raising.rank(op.output())) return false;
  if (!raising.type(op.output()).is_quantized()) return false;
  if (!raising.type(data).is_quantized()) {
    return raising.type(data).element == ElementType::float32 &&
           add_unary(raising, op, ops::Quantize::kind);
  }
  const Axes axes = raising.axes(data);
  const Value codes = raising.value(data, axes);
  const NodeId real = raising.graph().add({.kind = std::string(ops::Dequantize::kind),
                                           .operands = {codes},
                                           .results = {{raising.name(op.output()) + "_real",
                                                        raising.type_of(data, axes).expressed()}}});
  raising.add(ops::Quantize::kind, {{real}}, op.output(), axes);
  return true;
}

/// From codes, or from floats of 16 bits, which converters store weights in.
bool raise_dequantize(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  if (data == no_tensor || raising.type(op.output()).element != ElementType::float32) return false;
  const TensorType& type = raising.type(data);
  const bool is_short =
      type.element == ElementType::float16 || type.element == ElementType::bfloat16;
  if (!type.is_quantized() && !is_short) return false;
  if (raising.is_constant(data)) {
    raising.dequantize_constant(op.output(), data);
    return true;
  }
  return is_short ? raise_cast(raising, op) : add_unary(raising, op, ops::Dequantize::kind);
}

bool raise_reduction(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_ReducerOptions();
  const TensorId data = op.input(0);
  const auto given = raising.integers(op.input(1));
  if (!options || !given || given->empty() || data == no_tensor) return false;
  struct Kind {
    BuiltinOperator code;
    std::string_view kind;
    bool has_operand;  ///< opset 17 has the axes of sums as an operand, of others as an attribute
  };
  constexpr std::array kinds{Kind{BuiltinOperator::MEAN, ops::ReduceMean::kind, false},
                             Kind{BuiltinOperator::SUM, ops::ReduceSum::kind, true},
                             Kind{BuiltinOperator::REDUCE_MAX, ops::ReduceMax::kind, false},
                             Kind{BuiltinOperator::REDUCE_MIN, ops::ReduceMin::kind, false},
                             Kind{BuiltinOperator::REDUCE_PROD, ops::ReduceProd::kind, false},
                             Kind{BuiltinOperator::REDUCE_ANY, ops::ReduceMax::kind, false},
                             Kind{BuiltinOperator::REDUCE_ALL, ops::ReduceMin::kind, false}};
  const Kind& kind = *std::ranges::find(kinds, op.code, &Kind::code);
  const bool keep = options->keep_dims();
  const Axes axes = keep ? raising.axes(data) : plain_axes(raising.rank(data));
  if (keep && raising.rank(op.output()) != raising.rank(data)) return false;
  std::vector<std::int64_t> reduced;
  for (const std::int64_t axis : *given) {
    const auto at = normalize_axis(axis, raising.rank(data));
    if (!at) invalid(fmt::format("axis {} of {}", axis, raising.rank(data)));
    reduced.push_back(axes[static_cast<std::size_t>(*at)]);
  }
  std::ranges::sort(reduced);
  std::vector<Value> operands{raising.value(data, axes)};
  const Axes result_axes = keep ? axes : plain_axes(raising.rank(op.output()));
  Attributes attributes{{"keepdims", std::int64_t{keep ? 1 : 0}}};
  if (raising.type(data).element == ElementType::boolean) {
    // ONNX has the largest and the smallest of numbers.
    attributes.set("axes", std::move(reduced));
    Steps steps(raising, op.output());
    const Value numbers = steps.cast(operands.front(), ElementType::int32);
    const Value found = steps.apply(kind.kind, {numbers}, std::move(attributes));
    raising.add(ops::Cast::kind, {found}, op.output(), result_axes,
                {{"to", element_type_number(ElementType::boolean)}});
    return true;
  }
  if (kind.has_operand) {
    operands.push_back(raising.integer_constant(raising.name(op.output()) + "_axes", reduced));
  } else {
    attributes.set("axes", std::move(reduced));
  }
  raising.add(kind.kind, std::move(operands), op.output(), result_axes, std::move(attributes));
  return true;
}

/// A value between two operations that an operator does at once.
Value add_between(Raising& raising, std::string_view kind, std::vector<Value> operands,
                  std::string name, TensorType type, Attributes attributes = {}) {
  return {raising.graph().add({.kind = std::string(kind),
                               .operands = std::move(operands),
                               .results = {{std::move(name), std::move(type)}},
                               .attributes = std::move(attributes)})};
}

/// Weights beside real data are real values, though the kernel rounds the data to multiply codes.
Value weights_of(Raising& raising, const RaisedOp& op, const Axes& axes) {
  const TensorId id = op.input(1);
  const Value weights = raising.value(id, axes);
  if (raising.type(op.input(0)).is_quantized() || !raising.type(id).is_quantized()) return weights;
  return raising.real_value(weights);
}

/// Data of any rank are rows, one behind the other, of as many columns as the weights have; the
/// result may have the shape of the rows again.
bool raise_dense_rows(Raising& raising, const RaisedOp& op,
                      schema::ActivationFunctionType activation) {
  const TensorId data = op.input(0);
  const TensorId output = op.output();
  const Shape weights = raising.type(op.input(1)).shape;
  const auto count = raising.type(data).shape.element_count();
  const auto made = raising.type(output).shape.element_count();
  const std::int64_t channels = weights[0].value_or(0);
  const std::int64_t depth = weights[1].value_or(0);
  if (!count || !made || channels < 1 || depth < 1 || *count % depth != 0) return false;
  const Shape rows{*count / depth, depth};
  const Shape results{*count / depth, channels};
  if (*made != *count / depth * channels) invalid("a result of other rows than the operand's");
  const std::string name = raising.name(output);
  const auto reshaped = [](TensorType type, const Shape& shape) {
    type.shape = shape;
    return type;
  };
  const auto list = [&](std::string_view what, const Shape& shape) {
    return raising.integer_constant(fmt::format("{}_{}", name, what),
                                    {shape.known_extents().begin(), shape.known_extents().end()});
  };
  const Value flat =
      add_between(raising, ops::Reshape::kind, {raising.plain(data), list("rows_shape", rows)},
                  name + "_rows", reshaped(raising.type(data), rows));
  std::vector<Value> operands{flat, weights_of(raising, op, {0, 1})};
  if (op.input(2) != no_tensor) operands.push_back(raising.plain(op.input(2)));
  const Attributes attributes{{"transB", std::int64_t{1}}};
  if (raising.type(output).shape == results) {
    raising.add_activated(ops::Gemm::kind, std::move(operands), output, plain_axes(2), activation,
                          attributes);
    return true;
  }
  if (activation != schema::ActivationFunctionType::NONE) return false;
  const Value product =
      add_between(raising, ops::Gemm::kind, std::move(operands), name + "_product",
                  reshaped(raising.type(output), results), attributes);
  raising.add(ops::Reshape::kind, {product, list("shape", raising.type(output).shape)}, output,
              plain_axes(raising.rank(output)));
  return true;
}

/// The last axis of the data is multiplied, the others stay.
bool raise_dense_axis(Raising& raising, const RaisedOp& op,
                      schema::ActivationFunctionType activation) {
  const TensorId output = op.output();
  const TensorId bias = op.input(2);
  std::vector<Value> operands{raising.plain(op.input(0)), weights_of(raising, op, {1, 0})};
  const Axes plain = plain_axes(raising.rank(output));
  if (bias == no_tensor) {
    raising.add_activated(ops::MatMul::kind, std::move(operands), output, plain, activation);
    return true;
  }
  const Value product = add_between(raising, ops::MatMul::kind, std::move(operands),
                                    raising.name(output) + "_product", raising.type(output));
  raising.add_activated(ops::Add::kind, {product, raising.plain(bias)}, output, plain, activation);
  return true;
}

bool raise_fully_connected(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_FullyConnectedOptions();
  const TensorId data = op.input(0);
  const TensorId weights = op.input(1);
  const TensorId bias = op.input(2);
  if (!options || data == no_tensor || weights == no_tensor || op.output_count() != 1 ||
      options->weights_format() != 0 || raising.rank(weights) != 2 ||
      (bias != no_tensor && raising.rank(bias) != 1) ||
      raising.type(data).is_quantized() != raising.type(op.output()).is_quantized()) {
    return false;
  }
  const auto activation = options->fused_activation_function();
  const std::int64_t rank = raising.rank(data);
  if (rank == 2 && raising.rank(op.output()) == 2) {
    std::vector<Value> operands{raising.plain(data), weights_of(raising, op, {0, 1})};
    if (bias != no_tensor) operands.push_back(raising.plain(bias));
    raising.add_activated(ops::Gemm::kind, std::move(operands), op.output(), plain_axes(2),
                          activation, {{"transB", std::int64_t{1}}});
    return true;
  }
  const bool keeps = options->keep_num_dims() && rank >= 2 && rank == raising.rank(op.output());
  // A sum of codes would have to have parameters before the bias is added.
  const bool is_plain_sum = bias == no_tensor || !raising.type(data).is_quantized();
  return keeps && is_plain_sum ? raise_dense_axis(raising, op, activation)
                               : raise_dense_rows(raising, op, activation);
}

/// Operators that are two operations on plain numbers, one if the operand is all that there is.
bool raise_pair(Raising& raising, const RaisedOp& op) {
  struct Pair {
    BuiltinOperator code;
    std::string_view first;  ///< may be empty
    std::string_view second;
    bool squares;  ///< the second takes the first's result twice
  };
  constexpr std::array pairs{
      Pair{BuiltinOperator::RSQRT, ops::Sqrt::kind, ops::Reciprocal::kind, false},
      Pair{BuiltinOperator::SQUARE, "", ops::Multiply::kind, true},
      Pair{BuiltinOperator::SQUARED_DIFFERENCE, ops::Sub::kind, ops::Multiply::kind, true}};
  const Pair& pair = *std::ranges::find(pairs, op.code, &Pair::code);
  const TensorId output = op.output();
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.input(i) == no_tensor || raising.type(op.input(i)).is_quantized()) return false;
  }
  if (op.input_count() == 0 || raising.type(output).is_quantized()) return false;
  const Axes axes = broadcasting_axes(raising, op);
  std::vector<Value> operands;
  operands.reserve(op.input_count());
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    operands.push_back(broadcast_operand(raising, op, i, axes));
  }
  Value first = operands.front();
  if (!pair.first.empty()) {
    first = add_between(raising, pair.first, std::move(operands), raising.name(output) + "_first",
                        raising.type_of(output, axes));
  }
  raising.add(pair.second,
              pair.squares ? std::vector<Value>{first, first} : std::vector<Value>{first}, output,
              axes);
  return true;
}

/// Booleans that differ are an exclusive or; numbers, the opposite of equal.
bool raise_not_equal(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor || op.input(1) == no_tensor) return false;
  const TensorId output = op.output();
  std::vector<Value> operands{raising.plain(op.input(0)), raising.plain(op.input(1))};
  const Axes plain = plain_axes(raising.rank(output));
  if (raising.type(op.input(0)).element == ElementType::boolean) {
    raising.add(ops::Xor::kind, std::move(operands), output, plain);
    return true;
  }
  const Value equal = add_between(raising, ops::Equal::kind, std::move(operands),
                                  raising.name(output) + "_equal", raising.type(output));
  raising.add(ops::Not::kind, {equal}, output, plain);
  return true;
}

bool raise_batch_matmul(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_BatchMatMulOptions();
  if (!options || op.input(0) == no_tensor || op.input(1) == no_tensor ||
      raising.rank(op.input(0)) < 2 || raising.rank(op.input(1)) < 2) {
    return false;
  }
  const auto matrix = [&](std::size_t i, bool is_turned) {
    Axes axes = plain_axes(raising.rank(op.input(i)));
    if (is_turned) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return raising.value(op.input(i), axes);
  };
  raising.add(ops::MatMul::kind, {matrix(0, options->adj_x()), matrix(1, options->adj_y())},
              op.output(), plain_axes(raising.rank(op.output())));
  return true;
}

using enum BuiltinOperator;

constexpr std::array raise_number_rows{
    RaiseRule{LEAKY_RELU, raise_leaky_relu},
    RaiseRule{ELU, raise_elu},
    RaiseRule{GELU, raise_gelu},
    RaiseRule{RELU6, raise_clip},
    RaiseRule{RELU_N1_TO_1, raise_clip},
    RaiseRule{RELU_0_TO_1, raise_clip},
    RaiseRule{SOFTMAX, raise_softmax},
    RaiseRule{LOG_SOFTMAX, raise_softmax},
    RaiseRule{CAST, raise_cast},
    RaiseRule{FAKE_QUANT, raise_fake_quant},
    RaiseRule{ARG_MAX, raise_arg},
    RaiseRule{ARG_MIN, raise_arg},
    RaiseRule{NOT_EQUAL, raise_not_equal},
    RaiseRule{RSQRT, raise_pair},
    RaiseRule{SQUARE, raise_pair},
    RaiseRule{SQUARED_DIFFERENCE, raise_pair},
    RaiseRule{QUANTIZE, raise_quantize},
    RaiseRule{DEQUANTIZE, raise_dequantize},
    RaiseRule{MEAN, raise_reduction},
    RaiseRule{SUM, raise_reduction},
    RaiseRule{REDUCE_MAX, raise_reduction},
    RaiseRule{REDUCE_MIN, raise_reduction},
    RaiseRule{REDUCE_PROD, raise_reduction},
    RaiseRule{REDUCE_ANY, raise_reduction},
    RaiseRule{REDUCE_ALL, raise_reduction},
    RaiseRule{FULLY_CONNECTED, raise_fully_connected},
    RaiseRule{BATCH_MATMUL, raise_batch_matmul},
};

}  // namespace

std::span<const RaiseRule> raise_number_rules() noexcept { return raise_number_rows; }

bool raise_elementwise(Raising& raising, const RaisedOp& op) {
  const Rule* rule = find_elementwise(op.code, op.input_count());
  if (!rule || op.output_count() != 1) return false;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.input(i) == no_tensor) return false;
  }
  Shape shape = Shape::scalar();
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    shape = broadcast_shape(shape, raising.type(op.input(i)).shape);
  }
  const Shape& stated = raising.type(op.output()).shape;
  if (shape.is_static() && stated.is_static() && shape != stated) {
    invalid(fmt::format("a result of shape [{}], where [{}] follows", to_string(stated),
                        to_string(shape)));
  }
  const Axes axes = broadcasting_axes(raising, op);
  std::vector<Value> operands;
  operands.reserve(op.input_count());
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    operands.push_back(broadcast_operand(raising, op, i, axes));
  }
  raising.add_activated(rule->kind, std::move(operands), op.output(), axes, activation_in(op));
  return true;
}

}  // namespace quadrant::inline v0::tflite
