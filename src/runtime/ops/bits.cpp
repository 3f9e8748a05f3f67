// Operations of integers, bit by bit.
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class Function>
Expected<Tensors> map_bits(const KernelCall& call, Function function) {
  return with_integer(call.operand(0).element(), [&]<class T>() {
    return map_pairs<T>(call.operand(0), call.operand(1),
                        [&](T a, T b) { return static_cast<T>(function(a, b)); });
  });
}

// To the right, copies of the sign follow; what is shifted by its width or more, or by less than
// nothing, is made of them alone, and to the left of zeros.
template <class T>
T shifted(T value, T count, bool left) {
  if (std::cmp_less(count, 0) || std::cmp_greater_equal(count, 8 * sizeof(T))) {
    return !left && std::cmp_less(value, 0) ? static_cast<T>(-1) : T{0};
  }
  if (left) return static_cast<T>(static_cast<Unsigned<T>>(value) << count);
  return static_cast<T>(value >> count);
}

Expected<Tensors> bitwise_and(const KernelCall& call) { return map_bits(call, std::bit_and<>()); }

Expected<Tensors> bitwise_or(const KernelCall& call) { return map_bits(call, std::bit_or<>()); }

Expected<Tensors> bitwise_xor(const KernelCall& call) { return map_bits(call, std::bit_xor<>()); }

Expected<Tensors> bitwise_not(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_integer(x.element(), [&]<class T>() {
    return map_each<T>(x, [](T value) { return static_cast<T>(~value); });
  });
}

// Before opset 28, of unsigned integers alone.
Expected<Tensors> bit_shift(const KernelCall& call) {
  const auto direction = call.attribute_or<std::string>("direction", "");
  const bool left = direction == "LEFT";
  if (!left && direction != "RIGHT") {
    return KernelCall::refuse(fmt::format("the direction '{}': it is LEFT or RIGHT", direction));
  }
  const ElementType element = call.operand(0).element();
  return with_integer(element, [&]<class T>() -> Expected<Tensors> {
    if (std::is_signed_v<T> && call.opset() < 28) {
      return KernelCall::refuse(
          fmt::format("operands of type {}, where unsigned integers are wanted before opset 28",
                      to_string(element)));
    }
    return map_pairs<T>(call.operand(0), call.operand(1),
                        [&](T value, T count) { return shifted(value, count, left); });
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_bits() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::BitwiseAnd::kind, bitwise_and},
                                                            {ops::BitwiseOr::kind, bitwise_or},
                                                            {ops::BitwiseXor::kind, bitwise_xor},
                                                            {ops::BitwiseNot::kind, bitwise_not},
                                                            {ops::BitShift::kind, bit_shift}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
