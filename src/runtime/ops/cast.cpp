#include "runtime/ops/cast.hpp"

#include <algorithm>
#include <cstddef>

#include "ir/ops/elementwise.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Between types that C++ has.
Expected<Tensor> cast_plain(const Tensor& x, ElementType to) {
  QUADRANT_TRY(Tensors results, with_element(x.element(), [&]<class From>() {
                 return with_element(
                     to, [&]<class To>() { return map_each<From>(x, converted<To, From>); });
               }));
  return std::move(results[0]);
}

// The lower 4 bits of 8-bit integers, which `T` holds.
template <class T>
Expected<Tensor> lower_half(const Tensor& x, ElementType to) {
  constexpr int sign = std::is_signed_v<T> ? 8 : 0;
  QUADRANT_TRY(const Tensor bytes, cast_plain(x, ElementType::int8));
  QUADRANT_TRY(Tensor y, Tensor::make(to, x.shape()));
  std::ranges::transform(bytes.as<std::int8_t>(), y.fill<T>().begin(), [](std::int8_t value) {
    return static_cast<T>(((value & 15) ^ sign) - sign);
  });
  return y;
}

// Of the elements of a file: there booleans have 8.
int stored_bits(ElementType element) {
  return element == ElementType::boolean ? 8 : bit_width(element);
}

// What the attribute says, if it is a type that is read.
Expected<ElementType> read_type(std::optional<ElementType> to) {
  if (!to) return KernelCall::refuse("the attribute 'to' is not the number of a type");
  if (!is_carried(*to)) return *to;
  return KernelCall::refuse(
      fmt::format("the attribute 'to' names the type {}, which is not read", to_string(*to)));
}

Expected<Tensors> cast(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  QUADRANT_TRY(const ElementType to, read_type(ops::Cast{call.node()}.to()));
  QUADRANT_TRY(Tensor y, cast_to(call.operand(0), to));
  return Tensors{std::move(y)};
}

// The same bits, as elements of a type that has as many.
Expected<Tensors> bit_cast(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const ElementType to,
               read_type(numbered_element_type(call.attribute_or<std::int64_t>("to", 0))));
  if (stored_bits(x.element()) != stored_bits(to)) {
    return KernelCall::refuse(fmt::format("elements of type {} as {}, which has not as many bits",
                                          to_string(x.element()), to_string(to)));
  }
  Tensor y;
  if (bit_width(to) == 4) {  // here they lie in a byte each, under copies of the sign
    QUADRANT_TRY(y, cast_to(x, to));
    return Tensors{std::move(y)};
  }
  const bool is_truth =
      std::ranges::all_of(x.bytes(), [](std::byte byte) { return byte <= std::byte{1}; });
  if (to == ElementType::boolean && !is_truth) {
    return KernelCall::refuse("bytes other than 0 and 1 as booleans");
  }
  return Tensors{Tensor::from_bytes(to, x.shape(), x.bytes())};
}

Expected<Tensors> cast_like(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  QUADRANT_TRY(Tensor y, cast_to(call.operand(0), call.operand(1).element()));
  return Tensors{std::move(y)};
}

}  // namespace

Expected<Tensor> cast_to(const Tensor& x, ElementType to) {
  if (x.element() == to) return x;
  QUADRANT_TRY(const Tensor plain, widened(x));
  if (is_half_float(to)) {
    QUADRANT_TRY(const Tensor wide, cast_to(plain, ElementType::float32));
    return rounded_to(to, wide);
  }
  if (to == ElementType::int4) return lower_half<std::int8_t>(plain, to);
  if (to == ElementType::uint4) return lower_half<std::uint8_t>(plain, to);
  return cast_plain(plain, to);
}

std::span<const KernelEntry> kernels::in_cast() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{"cast", cast}, {ops::BitCast::kind, bit_cast}, {ops::CastLike::kind, cast_like}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
