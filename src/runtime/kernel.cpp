#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

const Tensor& KernelCall::operand(std::size_t index) const noexcept {
  static const Tensor none;
  return index < operands_.size() ? operands_[index] : none;
}

}  // namespace quadrant::inline v0
