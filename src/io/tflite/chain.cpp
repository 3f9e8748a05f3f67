#include "io/tflite/chain.hpp"

#include "io/tflite/elementwise.hpp"

namespace quadrant::inline v0::tflite {

TensorId Chain::next(const Shape& shape) {
  return lowering_.temporary(node_, fmt::format("part_{}", ++count_),
                             {ElementType::float32, shape, nullptr});
}

TensorId Chain::apply(BuiltinOperator code, Tensors operands) {
  const TensorId to = next();
  emit_elementwise(lowering_.model(), code, std::move(operands), to);
  return to;
}

TensorId Chain::cast(TensorId from) {
  const TensorId to = next();
  schema::CastOptionsT options;
  options.in_data_type = lowering_.model().tensor(from).type;
  options.out_data_type = schema::TensorType::FLOAT32;
  lowering_.model().emit({BuiltinOperator::CAST}, {from}, {to}, options);
  return to;
}

TensorId Chain::real(double value) { return lowering_.model().real(static_cast<float>(value)); }

void Chain::finish(Value result, TensorId last, const Axes& axes) {
  lowering_.model().tensor(last).name = std::string(lowering_.graph().value_name(result));
  lowering_.alias(result, last, axes);
}

}  // namespace quadrant::inline v0::tflite
