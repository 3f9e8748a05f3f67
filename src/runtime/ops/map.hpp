// One function for each element: what elementwise kernels are made of.
#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "runtime/broadcast.hpp"
#include "runtime/dispatch.hpp"

namespace quadrant::inline v0::interpreted {

// --- which types a kernel computes with ----------------------------------------------------------

/// As with_element, for numbers of at least 8 bits: what ONNX computes with.
template <class Body>
[[nodiscard]] Expected<Tensors> with_number(ElementType element, Body body) {
  if (element != ElementType::boolean && bit_width(element) < 8) {
    return KernelCall::refuse(fmt::format("operands of type {}", to_string(element)));
  }
  return with_element(element, [&]<class T>() -> Expected<Tensors> {
    if constexpr (std::is_same_v<T, bool>) {
      return KernelCall::refuse("boolean operands, where numbers are wanted");
    } else {
      return body.template operator()<T>();
    }
  });
}

/// As with_number, for integers alone.
template <class Body>
[[nodiscard]] Expected<Tensors> with_integer(ElementType element, Body body) {
  return with_number(element, [&]<class T>() -> Expected<Tensors> {
    if constexpr (std::is_integral_v<T>) {
      return body.template operator()<T>();
    } else {
      return KernelCall::refuse(
          fmt::format("operands of type {}, where integers are wanted", to_string(element)));
    }
  });
}

// --- one operand ---------------------------------------------------------------------------------

/// `function(value)` for each element of `x`, which are of type `T`; the result's elements are what
/// it returns.
template <class T, class Function>
[[nodiscard]] Expected<Tensors> map_each(const Tensor& x, Function function) {
  using Result = std::decay_t<std::invoke_result_t<Function, T>>;
  const ElementType element = std::is_same_v<Result, T> ? x.element() : element_of<Result>;
  QUADRANT_TRY(Tensor y, Tensor::make(element, x.shape()));
  std::ranges::transform(x.as<T>(), y.fill<Result>().begin(), function);
  return Tensors{std::move(y)};
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
[[nodiscard]] inline Expected<void> check_alike(const Tensor& a, const Tensor& b) {
  if (a && a.element() == b.element()) return {};
  return KernelCall::refuse(
      fmt::format("operands of types {} and {}", to_string(a.element()), to_string(b.element())));
}

/// `function(x, y)` for each element of `a` and `b`, both of type `T`, which broadcast; the
/// result's elements are what it returns.
template <class T, class Function>
[[nodiscard]] Expected<Tensors> map_pairs(const Tensor& a, const Tensor& b, Function function) {
  using Result = std::decay_t<std::invoke_result_t<Function, T, T>>;
  QUADRANT_CHECK(check_alike(a, b));
  QUADRANT_TRY(Shape shape, broadcast_shape(std::array{a, b}));
  const std::array strides{broadcast_strides(a.shape(), shape),
                           broadcast_strides(b.shape(), shape)};
  const ElementType element = std::is_same_v<Result, T> ? a.element() : element_of<Result>;
  QUADRANT_TRY(Tensor y, Tensor::make(element, std::move(shape)));
  const T* const left = a.as<T>().data();
  const T* const right = b.as<T>().data();
  Result* const out = y.fill<Result>().data();
  for_each_run(y.shape(), strides,
               [&](std::int64_t position, const std::array<std::int64_t, 2>& offsets,
                   std::int64_t length, const std::array<std::int64_t, 2>& steps) {
                 const T* const l = left + offsets[0];
                 const T* const r = right + offsets[1];
                 Result* const o = out + position;
                 const auto run = [&](auto left_step, auto right_step) {
                   for (std::int64_t i = 0; i < length; ++i) {
                     o[i] = function(l[i * left_step], r[i * right_step]);
                   }
                 };
                 // Steps that are known, and these are the usual ones, make loops that vectorise.
                 constexpr std::integral_constant<std::int64_t, 0> stay;
                 constexpr std::integral_constant<std::int64_t, 1> next;
                 if (steps[0] == 1 && steps[1] == 1) return run(next, next);
                 if (steps[0] == 1 && steps[1] == 0) return run(next, stay);
                 if (steps[0] == 0 && steps[1] == 1) return run(stay, next);
                 run(steps[0], steps[1]);
               });
  return Tensors{std::move(y)};
}

}  // namespace quadrant::inline v0::interpreted
