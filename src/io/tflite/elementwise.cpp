#include "io/tflite/elementwise.hpp"

#include "io/tflite/extents.hpp"
#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {

schema::OperatorT& emit_elementwise(Model& model, BuiltinOperator code, Tensors operands,
                                    TensorId result) {
  schema::OperatorT& made = model.emit({code}, std::move(operands), {result});
  schema::BuiltinOptionsUnion& options = made.builtin_options;
  if (code == BuiltinOperator::ADD) {
    schema::AddOptionsT sum;
    sum.pot_scale_int16 = false;  // scales need not be powers of two
    options.Set(sum);
  } else if (code == BuiltinOperator::SUB) {
    schema::SubOptionsT difference;
    difference.pot_scale_int16 = false;
    options.Set(difference);
  } else if (code == BuiltinOperator::MUL) {
    options.Set(schema::MulOptionsT{});
  } else if (code == BuiltinOperator::DIV) {
    options.Set(schema::DivOptionsT{});
  }
  if (code == BuiltinOperator::MAXIMUM || code == BuiltinOperator::MINIMUM) {
    options.Set(schema::MaximumMinimumOptionsT{});
  }
  return made;
}

void lower_unary(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  lowering.settle(node.result(), lowering.type(operand).element, lowering.ranked(operand));
  const Axes axes = lowering.axes(operand);
  const TensorId from = lowering.tensor(operand, axes);
  emit_elementwise(lowering.model(), rule.code, {from}, lowering.define(node.result(), axes));
}

void lower_broadcasting(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const std::vector<Value> operands(node.operands().begin(), node.operands().end());
  Shape shape = Shape::scalar();
  ElementType element = ElementType::undefined;
  for (const Value operand : operands) {
    if (operand.is_absent()) impossible("an operand is missing");
    shape = broadcast_shape(shape, lowering.ranked(operand));
    element = lowering.type(operand).element;
  }
  if (rule.codes == Codes::operands) element = ElementType::boolean;
  lowering.settle(node.result(), element, shape);
  const Axes axes = lowering.common_axes(operands, shape.rank());
  Tensors tensors;
  tensors.reserve(operands.size());
  for (const Value operand : operands) tensors.push_back(lowering.broadcast(operand, axes));
  emit_elementwise(lowering.model(), rule.code, std::move(tensors),
                   lowering.define(node.result(), axes));
}

}  // namespace quadrant::inline v0::tflite
