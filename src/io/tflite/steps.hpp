// What an operator becomes that is several of ONNX's operations, one after the other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tflite/raise.hpp"

namespace quadrant::inline v0::tflite {

/// Makes the values between the operations. Their types follow from the operands, or are stated.
class Steps {
 public:
  Steps(Raising& raising, TensorId output) : raising_(raising), output_(output) {}

  Value apply(std::string_view kind, std::vector<Value> operands, Attributes attributes = {},
              TensorType type = {});
  /// A list of int64.
  Value integers(const std::vector<std::int64_t>& values);
  Value constant(Constant contents);
  /// Of the element type of the tensor `like`, and rank 0: a real number or a plain integer.
  Value number(double value, TensorId like);

  Value reshape(Value from, const std::vector<std::int64_t>& extents);
  Value unsqueeze(Value from, const std::vector<std::int64_t>& axes);
  Value cast(Value from, ElementType to);

  /// The last operation, whose result is the tensor, in its own order.
  void finish(std::string_view kind, std::vector<Value> operands, Attributes attributes = {});

 private:
  std::string next_name();

  Raising& raising_;
  TensorId output_;
  int count_ = 0;
};

}  // namespace quadrant::inline v0::tflite
