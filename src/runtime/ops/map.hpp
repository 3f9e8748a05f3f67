// One function for each element: what elementwise kernels are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "quadrant/support/executor.hpp"
#include "runtime/broadcast.hpp"
#include "runtime/dispatch.hpp"

namespace quadrant::inline v0::interpreted {

// --- which types a kernel computes with ----------------------------------------------------------

/// Refuses all but numbers of at least 8 bits: what ONNX computes with.
[[nodiscard]] Expected<void> check_number(ElementType element);
/// Refuses all but integers of at least 8 bits.
[[nodiscard]] Expected<void> check_integer(ElementType element);

/// As with_element, for numbers of at least 8 bits.
template <class Body>
[[nodiscard]] Expected<Tensors> with_number(ElementType element, Body body) {
  QUADRANT_CHECK(check_number(element));
  return with_one_of<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                     std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(element, body);
}

/// As with_number, for integers alone.
template <class Body>
[[nodiscard]] Expected<Tensors> with_integer(ElementType element, Body body) {
  QUADRANT_CHECK(check_integer(element));
  return with_one_of<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                     std::uint32_t, std::int64_t, std::uint64_t>(element, body);
}

// --- one operand ---------------------------------------------------------------------------------

// Which loops there are depends on types; what surrounds them is compiled once, for all of them.

/// Calls `loop` with the elements of `x`, where the results go, which are of type `element`, and
/// how many they are.
[[nodiscard]] Expected<Tensors> map_elements(
    const Tensor& x, ElementType element,
    FunctionRef<void(const std::byte* from, std::byte* to, std::int64_t count)> loop);

/// `function(value)` for each element of `x`, which are of type `T`; the result's elements are what
/// it returns.
template <class T, class Function>
[[nodiscard]] Expected<Tensors> map_each(const Tensor& x, Function function) {
  using Result = std::decay_t<std::invoke_result_t<Function, T>>;
  const ElementType element = std::is_same_v<Result, T> ? x.element() : element_of<Result>;
  QUADRANT_ASSERT(sizeof(T) == static_cast<std::size_t>(byte_width(x.element())));
  QUADRANT_ASSERT(sizeof(Result) == static_cast<std::size_t>(byte_width(element)));
  return map_elements(x, element, [&](const std::byte* from, std::byte* to, std::int64_t count) {
    const auto* const values = reinterpret_cast<const T*>(from);
    std::transform(values, values + count, reinterpret_cast<Result*>(to), function);
  });
}

/// The same for operand 0, which is real, into a result of its type.
template <class Function>
[[nodiscard]] Expected<Tensors> map_real(const KernelCall& call, Function function) {
  const Tensor& x = call.operand(0);
  return with_real(x.element(), [&]<class T>() {
    return map_each<T>(x, [&](T value) { return static_cast<T>(function(value)); });
  });
}

/// ONNX's real attributes are float32.
[[nodiscard]] inline float real_attribute(const KernelCall& call, std::string_view name,
                                          float fallback) {
  return static_cast<float>(call.attribute_or(name, static_cast<double>(fallback)));
}

// --- two operands --------------------------------------------------------------------------------

/// Refuses tensors that are absent or not of one element type.
[[nodiscard]] Expected<void> check_alike(const Tensor& a, const Tensor& b);

/// Where the elements of two operands lie, in steps of elements, and where what is made of them
/// goes, one behind the other.
struct Pairs {
  const std::byte* left = nullptr;
  const std::byte* right = nullptr;
  std::byte* out = nullptr;
  Block<2> block;
};

/// Calls `loop` for all elements of `a` and `b`, which are of one type and broadcast, and gives the
/// results, of type `element`.
[[nodiscard]] Expected<Tensors> map_blocks(const Tensor& a, const Tensor& b, ElementType element,
                                           FunctionRef<void(const Pairs&)> loop);

/// `function(x, y)` for each element of `a` and `b`, both of type `T`, which broadcast; the
/// result's elements are what it returns.
template <class T, class Function>
[[nodiscard]] Expected<Tensors> map_pairs(const Tensor& a, const Tensor& b, Function function) {
  using Result = std::decay_t<std::invoke_result_t<Function, T, T>>;
  const ElementType element = std::is_same_v<Result, T> ? a.element() : element_of<Result>;
  return map_blocks(a, b, element, [&](const Pairs& pairs) {
    QUADRANT_ASSERT(sizeof(T) == static_cast<std::size_t>(byte_width(a.element())));
    QUADRANT_ASSERT(sizeof(Result) == static_cast<std::size_t>(byte_width(element)));
    const Block<2>& block = pairs.block;
    const auto loop = [&](auto left_step, auto right_step) {
      const auto* left = reinterpret_cast<const T*>(pairs.left);
      const auto* right = reinterpret_cast<const T*>(pairs.right);
      auto* out = reinterpret_cast<Result*>(pairs.out);
      for (std::int64_t row = 0; row < block.rows; ++row) {
        for (std::int64_t i = 0; i < block.length; ++i) {
          out[i] = function(left[i * left_step], right[i * right_step]);
        }
        left += block.row_steps[0];
        right += block.row_steps[1];
        out += block.length;
      }
    };
    // Steps that are known, and these are the usual ones, make loops that vectorise.
    constexpr std::integral_constant<std::int64_t, 0> stay;
    constexpr std::integral_constant<std::int64_t, 1> next;
    const auto [left_step, right_step] = block.steps;
    if (left_step == 1 && right_step == 1) return loop(next, next);
    if (left_step == 1 && right_step == 0) return loop(next, stay);
    if (left_step == 0 && right_step == 1) return loop(stay, next);
    loop(left_step, right_step);
  });
}

}  // namespace quadrant::inline v0::interpreted
