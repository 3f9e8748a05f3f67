// Between codes and real values, between element types, and what changes nothing.
#include <array>

#include "io/tflite/affine.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/rules.hpp"
#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

void lower_identity(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const TensorType type = lowering.type(node.operand(0));
  lowering.settle(node.result(), type.element, type.shape);
  lowering.alias(node.result(), node.operand(0));
}

void lower_transpose(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  const Value operand = node.operand(0);
  const Axes axes = lowering.axes(operand);
  if (perm.size() != axes.size()) impossible("a transpose of unknown axes");
  lowering.alias(node.result(), lowering.tensor(operand, axes), moved(axes, perm));
}

bool is_8_bits(const TensorType& type) {
  return type.element == ElementType::int8 || type.element == ElementType::uint8;
}

/// Whether QUANTIZE goes from codes of one type to those of the other.
bool can_requantize(const TensorType& from, const TensorType& to) {
  const auto is_one_scale = [](const TensorType& type) {
    return type.is_quantized() &&
           granularity_of(type.quantization).kind == Granularity::Kind::tensor &&
           Model::has_kernel(BuiltinOperator::DEQUANTIZE, type.quantization);
  };
  // DEQUANTIZE takes the codes that QUANTIZE may begin with: of 16 bits those around zero alone.
  if (!is_one_scale(from) || !is_one_scale(to)) return false;
  const bool is_16_bits = from.element == ElementType::int16;
  return (is_8_bits(from) && is_8_bits(to)) ||
         (is_16_bits && (to.element == ElementType::int8 || to.element == ElementType::int16));
}

/// The `quantize` that alone reads the real values that `node` makes; absent if there is none.
NodeId only_quantize(const Lowering& lowering, NodeRef node) {
  if (!lowering.has_one_use(node.result())) return {};
  const NodeId user = lowering.graph().uses(node.id).front().user;
  return lowering.graph().kind(user) == ops::Quantize::kind ? user : NodeId{};
}

/// The node `dequantize` whose result is not computed, since QUANTIZE reads its codes.
Value requantized_codes(const Lowering& lowering, NodeRef node) {
  const Value real = node.operand(0);
  const NodeRef producer = lowering.graph().ref(real.node);
  if (producer.kind() != ops::Dequantize::kind || only_quantize(lowering, producer) != node.id) {
    return {};
  }
  const Value codes = producer.operand(0);
  return can_requantize(lowering.type(codes), lowering.type(node.result())) ? codes : Value{};
}

void lower_quantize(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value codes = requantized_codes(lowering, node);
  const Value from = codes.is_absent() ? node.operand(0) : codes;
  if (!codes.is_absent() &&
      have_same_parameters(lowering.type(codes), lowering.type(node.result()))) {
    lowering.alias(node.result(), codes);
    return;
  }
  const Axes axes = lowering.axes(from);
  lowering.settle(node.result(), lowering.type(node.result()).element, lowering.ranked(from));
  const TensorType type = lowering.type(node.result());
  if (codes.is_absent() && !Model::has_kernel(BuiltinOperator::QUANTIZE, type.quantization)) {
    lowering.decomposed(node, "DIV, ROUND, ADD, MAXIMUM, MINIMUM and CAST instead of QUANTIZE");
    quantize_by_arithmetic(lowering, node, parameters_of(lowering, node, type, axes), axes);
    return;
  }
  const TensorId source = lowering.tensor(from, axes);
  lowering.model().emit({BuiltinOperator::QUANTIZE}, {source},
                        {lowering.define(node.result(), axes)}, schema::QuantizeOptionsT{});
}

void lower_dequantize(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  if (lowering.is_free(node.result())) return;  // made in the order in which it is asked for
  const NodeId quantize = only_quantize(lowering, node);
  if (quantize.is_valid() &&
      !requantized_codes(lowering, lowering.graph().ref(quantize)).is_absent()) {
    return;
  }
  const Value codes = node.operand(0);
  const TensorType type = lowering.type(codes);
  const Axes axes = lowering.axes(codes);
  const bool has_kernel = Model::has_kernel(BuiltinOperator::DEQUANTIZE, type.quantization);
  if (!has_kernel || bit_width(type.element) < 8) {
    lowering.decomposed(node, "CAST, SUB and MUL instead of DEQUANTIZE");
    dequantize_by_arithmetic(lowering, node, parameters_of(lowering, node, type, axes), axes);
    return;
  }
  const TensorId source = lowering.tensor(codes, axes);
  lowering.model().emit({BuiltinOperator::DEQUANTIZE}, {source},
                        {lowering.define(node.result(), axes)}, schema::DequantizeOptionsT{});
}

void lower_storage_cast(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value from = node.operand(0);
  if (lowering.constant(from)) {
    lowering.alias(node.result(), from);
    return;
  }
  const Axes axes = lowering.axes(from);
  const TensorId tensor = lowering.tensor(from, axes);
  const TensorType& wanted = lowering.type(node.result());
  schema::TensorT& held = lowering.model().tensor(tensor);
  auto parameters = Model::parameters(wanted.quantization, axes);
  // Plain codes take the label; those that have another one are copied.
  const bool is_free_of_label = !wanted.is_quantized();
  const bool takes_label = !held.quantization && lowering.has_one_use(from);
  const bool is_labelled = is_free_of_label || takes_label || !parameters ||
                           (held.quantization && *held.quantization == *parameters);
  if (takes_label) held.quantization = std::move(parameters);
  if (is_labelled) {
    lowering.alias(node.result(), tensor, axes);
  } else {
    lowering.reshape(tensor, lowering.define(node.result(), axes));
  }
}

void lower_cast(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value from = node.operand(0);
  const Axes axes = lowering.axes(from);
  const TensorId source = lowering.tensor(from, axes);
  lowering.settle(node.result(), ops::Cast{node}.to().value_or(ElementType::opaque),
                  lowering.ranked(from));
  const TensorId result = lowering.define(node.result(), axes);
  schema::CastOptionsT options;
  options.in_data_type = lowering.model().tensor(source).type;
  options.out_data_type = lowering.model().tensor(result).type;
  lowering.model().emit({BuiltinOperator::CAST}, {source}, {result}, options);
}

// The range is the same with and without a sign, and codes of fewer bits than 8 have 8.
void lower_const_fake_quant(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const std::vector<FakeQuantRange> ranges = value_of(ops::ConstFakeQuant{node}.ranges());
  const FakeQuantRange& range = ranges.front();
  constexpr std::int64_t most_bits = 16;
  // LiteRT reads no other range in a file: "only meant to be applied to weights".
  if (ranges.size() != 1 || range.num_bits > most_bits || range.narrow_range) {
    impossible(
        "FAKE_QUANT has one range, of 16 bits at most, and not a narrow one: 'convert_fake_quant' "
        "makes codes of it");
  }
  const Value operand = node.operand(0);
  lowering.settle(node.result(), lowering.type(operand).element, lowering.ranked(operand));
  const Axes axes = lowering.axes(operand);
  const TensorId from = lowering.tensor(operand, axes);
  schema::FakeQuantOptionsT options;
  options.min = static_cast<float>(range.min);
  options.max = static_cast<float>(range.max);
  options.num_bits = range.num_bits <= 8 ? 8 : 16;
  lowering.model().emit({rule.code}, {from}, {lowering.define(node.result(), axes)}, options);
}

// --- ONNX's own operators, whose parameters are computed or contradict others
// ----------------------

void lower_dequantize_linear(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Shape shape = lowering.ranked(node.operand(0));
  lowering.settle(node.result(), ElementType::float32, shape);
  if (dequantize_constant(lowering, node)) {
    lowering.changed(node, "codes with such parameters are written as float");
    return;
  }
  lowering.decomposed(node,
                      "CAST, SUB and MUL: the parameters are computed, or are not the only "
                      "ones of these codes");
  dequantize_by_arithmetic(lowering, node, computed_parameters(lowering, node),
                           plain_axes(shape.rank()));
}

void lower_quantize_linear(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Shape shape = lowering.ranked(node.operand(0));
  const Value zero = node.operand(2);
  lowering.settle(node.result(),
                  zero.is_absent() ? ElementType::uint8 : lowering.type(zero).element, shape);
  lowering.decomposed(node,
                      "DIV, ROUND, ADD, MAXIMUM, MINIMUM and CAST: the parameters are "
                      "computed, or are not the only ones of these codes");
  quantize_by_arithmetic(lowering, node, computed_parameters(lowering, node),
                         plain_axes(shape.rank()));
}

constexpr std::array conversion_rows{
    Rule{.kind = ops::Identity::kind, .lower = lower_identity, .codes = Codes::any},
    Rule{.kind = ops::Dropout::kind, .lower = lower_identity, .codes = Codes::any},
    Rule{.kind = ops::Transpose::kind, .lower = lower_transpose, .codes = Codes::any},
    Rule{.kind = ops::Quantize::kind, .lower = lower_quantize, .codes = Codes::any},
    Rule{.kind = ops::Dequantize::kind, .lower = lower_dequantize, .codes = Codes::any},
    Rule{.kind = ops::StorageCast::kind, .lower = lower_storage_cast, .codes = Codes::any},
    Rule{.kind = ops::ConstFakeQuant::kind,
         .lower = lower_const_fake_quant,
         .code = BuiltinOperator::FAKE_QUANT},
    // These read codes as the integers that they are, whatever is known of their meaning.
    Rule{.kind = ops::Cast::kind, .lower = lower_cast, .codes = Codes::any},
    Rule{.kind = ops::CastLike::kind, .lower = lower_cast, .codes = Codes::any},
    Rule{
        .kind = ops::DequantizeLinear::kind, .lower = lower_dequantize_linear, .codes = Codes::any},
    Rule{.kind = ops::QuantizeLinear::kind, .lower = lower_quantize_linear, .codes = Codes::any},
};

}  // namespace

std::span<const Rule> conversion_rules() noexcept { return conversion_rows; }

}  // namespace quadrant::inline v0::tflite
