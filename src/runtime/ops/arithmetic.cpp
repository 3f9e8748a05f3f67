// Arithmetic of two numbers, which broadcast.
#include <cmath>

#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/cast.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Integers towards zero. By zero, the quotient is as large as it can be, of the dividend's sign.
template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    using Limits = std::numeric_limits<T>;
    if (a == 0) return 0;
    if (b == 0) return a > 0 ? Limits::max() : Limits::min();
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrapping_subtract<T>(0, a);  // of the smallest there is no negative
    }
    return static_cast<T>(a / b);
  }
}

// Of the dividend's sign, as in C. By zero: 0.
template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
}

// Of the divisor's sign, as in Python; so are real zeros.
template <class T>
T modulus(T a, T b) {
  const T rest = remainder(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (rest == 0) return std::copysign(rest, b);
  }
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

double real_power(double base, double exponent) {
  return exponent == 2 ? base * base : std::pow(base, exponent);  // the most frequent one
}

float real_power(float base, float exponent) {
  return exponent == 2 ? base * base : std::pow(base, exponent);
}

// What is no integer is rounded towards zero, as in divisions.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return std::numeric_limits<std::int64_t>::max();
    if (base != 1 && base != -1) return 0;
    return exponent % 2 == 0 ? 1 : base;
  }
  std::int64_t power = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) power = wrapping_multiply(power, base);
    base = wrapping_multiply(base, base);
  }
  return power;
}

// Computed as numbers that hold operands of any types, into a result of the base's type.
template <class T, class Function>
Expected<Tensors> power_of_mixed(const Tensor& base, const Tensor& exponent, Function function) {
  QUADRANT_TRY(const Tensor wide_base, cast_to(base, element_of<T>));
  QUADRANT_TRY(const Tensor wide_exponent, cast_to(exponent, element_of<T>));
  QUADRANT_TRY(const Tensors powers, map_pairs<T>(wide_base, wide_exponent, function));
  QUADRANT_TRY(Tensor result, cast_to(powers[0], base.element()));
  return Tensors{std::move(result)};
}

// `function` of operands 0 and 1, numbers of one type.
template <class Function>
Expected<Tensors> map_numbers(const KernelCall& call, Function function) {
  return with_number(call.operand(0).element(), [&]<class T>() {
    return map_pairs<T>(call.operand(0), call.operand(1), [&](T a, T b) { return function(a, b); });
  });
}

Expected<Tensors> add(const KernelCall& call) {
  return map_numbers(call, [](auto a, auto b) { return wrapping_add(a, b); });
}

Expected<Tensors> sub(const KernelCall& call) {
  return map_numbers(call, [](auto a, auto b) { return wrapping_subtract(a, b); });
}

Expected<Tensors> mul(const KernelCall& call) {
  return map_numbers(call, [](auto a, auto b) { return wrapping_multiply(a, b); });
}

Expected<Tensors> div(const KernelCall& call) {
  return map_numbers(call, [](auto a, auto b) { return quotient(a, b); });
}

Expected<Tensors> mod(const KernelCall& call) {
  if (call.attribute_or<std::int64_t>("fmod", 0) != 0) {
    return map_numbers(call, [](auto a, auto b) { return remainder(a, b); });
  }
  if (is_float(call.operand(0).element()) && call.opset() < 28) {
    return KernelCall::refuse(
        "a modulus of floats: those need the attribute fmod = 1 before opset 28");
  }
  return map_numbers(call, [](auto a, auto b) { return modulus(a, b); });
}

Expected<Tensors> pow(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& base = call.operand(0);
  const Tensor& exponent = call.operand(1);
  if (is_integer(base.element()) && is_integer(exponent.element())) {
    return power_of_mixed<std::int64_t>(base, exponent, integer_power);
  }
  const auto power = [](auto x, auto y) { return real_power(x, y); };
  if (base.element() == ElementType::float32 && exponent.element() == ElementType::float32) {
    return map_pairs<float>(base, exponent, power);
  }
  return power_of_mixed<double>(base, exponent, power);
}

}  // namespace

std::span<const KernelEntry> kernels::in_arithmetic() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{"add", add, HalfFloats::widened},
       {ops::Sub::kind, sub, HalfFloats::widened},
       {"multiply", mul, HalfFloats::widened},
       {ops::Div::kind, div, HalfFloats::widened},
       {ops::Mod::kind, mod, HalfFloats::widened},
       {ops::Pow::kind, pow}});  // its operands may be of different types
  return table;
}

}  // namespace quadrant::inline v0::interpreted
