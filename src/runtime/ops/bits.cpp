// Operations of integers, bit by bit.
#include "runtime/ops/elementwise.hpp"
#include "runtime/ops/map.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class Function>
Expected<Tensors> map_bits(const KernelCall& call, Function function) {
  return with_integer(call.operand(0).element(), [&]<class T>() {
    return map_pairs<T>(call.operand(0), call.operand(1),
                        [&](T a, T b) { return static_cast<T>(function(a, b)); });
  });
}

}  // namespace

Expected<Tensors> bitwise_and(const KernelCall& call) { return map_bits(call, std::bit_and<>()); }

Expected<Tensors> bitwise_or(const KernelCall& call) { return map_bits(call, std::bit_or<>()); }

Expected<Tensors> bitwise_xor(const KernelCall& call) { return map_bits(call, std::bit_xor<>()); }

Expected<Tensors> bitwise_not(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_integer(x.element(), [&]<class T>() {
    return map_each<T>(x, [](T value) { return static_cast<T>(~value); });
  });
}

// Of unsigned integers; what is shifted by its width or more is 0.
Expected<Tensors> bit_shift(const KernelCall& call) {
  const auto direction = call.attribute_or<std::string>("direction", "");
  const bool left = direction == "LEFT";
  if (!left && direction != "RIGHT") {
    return KernelCall::refuse(fmt::format("the direction '{}': it is LEFT or RIGHT", direction));
  }
  const ElementType element = call.operand(0).element();
  return with_integer(element, [&]<class T>() -> Expected<Tensors> {
    if constexpr (std::is_signed_v<T>) {
      return KernelCall::refuse(fmt::format(
          "operands of type {}, where unsigned integers are wanted", to_string(element)));
    } else {
      return map_pairs<T>(call.operand(0), call.operand(1), [&](T value, T count) -> T {
        if (count >= 8 * sizeof(T)) return 0;
        const auto wide = std::uint64_t{value};
        return static_cast<T>(left ? wide << count : wide >> count);
      });
    }
  });
}

}  // namespace quadrant::inline v0::interpreted
