// What an operation without a counterpart is made of: operators on floats, one after the
// other.
#pragma once

#include <cstdint>

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

/// Makes the tensors between the operators. All are float32.
class Chain {
 public:
  /// `shape`: of the results, as the tensors have it.
  Chain(Lowering& lowering, const NodeRef& node, Shape shape)
      : lowering_(lowering), node_(node), shape_(std::move(shape)) {}

  /// Goes on with results of another shape.
  void set_shape(Shape shape) { shape_ = std::move(shape); }

  [[nodiscard]] TensorId next() { return next(shape_); }
  [[nodiscard]] TensorId next(const Shape& shape);
  /// An operator on one element after the other, of as many operands as it takes.
  TensorId apply(BuiltinOperator code, Tensors operands);
  TensorId cast(TensorId from);
  TensorId real(double value);
  /// `result` is `last`, which an operator of this chain computes, laid out as `axes`.
  void finish(Value result, TensorId last, const Axes& axes);

 private:
  Lowering& lowering_;
  const NodeRef& node_;
  Shape shape_;
  std::int64_t count_ = 0;
};

}  // namespace quadrant::inline v0::tflite
