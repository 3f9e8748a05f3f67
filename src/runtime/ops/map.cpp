#include "runtime/ops/map.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace quadrant::inline v0::interpreted {

Expected<void> check_number(ElementType element) {
  if (element == ElementType::boolean) {
    return KernelCall::refuse("boolean operands, where numbers are wanted");
  }
  if (bit_width(element) >= 8) return {};
  return KernelCall::refuse(fmt::format("operands of type {}", to_string(element)));
}

Expected<void> check_integer(ElementType element) {
  QUADRANT_CHECK(check_number(element));
  if (is_integer(element)) return {};
  return KernelCall::refuse(
      fmt::format("operands of type {}, where integers are wanted", to_string(element)));
}

Expected<Tensors> map_elements(
    const Tensor& x, ElementType element,
    FunctionRef<void(const std::byte* from, std::byte* to, std::int64_t count)> loop) {
  QUADRANT_TRY(Tensor y, Tensor::make(element, x.shape()));
  loop(x.bytes().data(), y.fill_bytes().data(), y.element_count());
  return Tensors{std::move(y)};
}

Expected<void> check_alike(const Tensor& a, const Tensor& b) {
  if (a && a.element() == b.element()) return {};
  return KernelCall::refuse(
      fmt::format("operands of types {} and {}", to_string(a.element()), to_string(b.element())));
}

Expected<Tensors> map_blocks(const Tensor& a, const Tensor& b, ElementType element,
                             FunctionRef<void(const Pairs&)> loop) {
  QUADRANT_CHECK(check_alike(a, b));
  QUADRANT_TRY(Shape shape, broadcast_shape(std::array{a, b}));
  const std::array strides{broadcast_strides(a.shape(), shape),
                           broadcast_strides(b.shape(), shape)};
  QUADRANT_TRY(Tensor y, Tensor::make(element, std::move(shape)));
  const std::int64_t width = byte_width(a.element());
  const std::int64_t result_width = byte_width(element);
  const std::byte* const left = a.bytes().data();
  const std::byte* const right = b.bytes().data();
  std::byte* const out = y.fill_bytes().data();
  for_each_block(y.shape(), strides,
                 [&](std::int64_t position, const std::array<std::int64_t, 2>& offsets,
                     const Block<2>& block) {
                   loop({.left = left + offsets[0] * width,
                         .right = right + offsets[1] * width,
                         .out = out + position * result_width,
                         .block = block});
                 });
  return Tensors{std::move(y)};
}

}  // namespace quadrant::inline v0::interpreted
