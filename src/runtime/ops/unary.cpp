// Functions of one number, a line each.
#include <cmath>

#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// --- of any number -------------------------------------------------------------------------------

Expected<Tensors> abs(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_number(x.element(), [&]<class T>() { return map_each<T>(x, magnitude<T>); });
}

Expected<Tensors> neg(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_number(x.element(), [&]<class T>() {
    return map_each<T>(x, [](T value) {
      if constexpr (std::is_floating_point_v<T>) {
        return -value;
      } else {
        return wrapping_subtract<T>(0, value);
      }
    });
  });
}

Expected<Tensors> sign(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_number(x.element(), [&]<class T>() {
    return map_each<T>(x, [](T value) {
      if (is_nan(value)) return value;
      return static_cast<T>((value > 0 ? 1 : 0) - (value < 0 ? 1 : 0));
    });
  });
}

// --- rounding ------------------------------------------------------------------------------------

Expected<Tensors> ceil(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::ceil(x); });
}

Expected<Tensors> floor(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::floor(x); });
}

// Ties to even.
Expected<Tensors> round(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::nearbyint(x); });
}

// --- powers and logarithms -----------------------------------------------------------------------

Expected<Tensors> sqrt(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::sqrt(x); });
}

Expected<Tensors> exp(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::exp(x); });
}

Expected<Tensors> log(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::log(x); });
}

Expected<Tensors> reciprocal(const KernelCall& call) {
  return map_real(call, [](auto x) { return 1 / x; });
}

Expected<Tensors> erf(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::erf(x); });
}

// --- angles --------------------------------------------------------------------------------------

Expected<Tensors> sin(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::sin(x); });
}

Expected<Tensors> cos(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::cos(x); });
}

Expected<Tensors> tan(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::tan(x); });
}

Expected<Tensors> asin(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::asin(x); });
}

Expected<Tensors> acos(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::acos(x); });
}

Expected<Tensors> atan(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::atan(x); });
}

Expected<Tensors> sinh(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::sinh(x); });
}

Expected<Tensors> cosh(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::cosh(x); });
}

Expected<Tensors> tanh(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::tanh(x); });
}

Expected<Tensors> asinh(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::asinh(x); });
}

Expected<Tensors> acosh(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::acosh(x); });
}

Expected<Tensors> atanh(const KernelCall& call) {
  return map_real(call, [](auto x) { return std::atanh(x); });
}

}  // namespace

std::span<const KernelEntry> kernels::in_unary() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Abs::kind, abs, HalfFloats::widened},
                                  {ops::Neg::kind, neg, HalfFloats::widened},
                                  {ops::Sign::kind, sign, HalfFloats::widened},
                                  {ops::Ceil::kind, ceil, HalfFloats::widened},
                                  {ops::Floor::kind, floor, HalfFloats::widened},
                                  {ops::Round::kind, round, HalfFloats::widened},
                                  {ops::Sqrt::kind, sqrt, HalfFloats::widened},
                                  {ops::Exp::kind, exp, HalfFloats::widened},
                                  {ops::Log::kind, log, HalfFloats::widened},
                                  {ops::Reciprocal::kind, reciprocal, HalfFloats::widened},
                                  {ops::Erf::kind, erf, HalfFloats::widened},
                                  {ops::Sin::kind, sin, HalfFloats::widened},
                                  {ops::Cos::kind, cos, HalfFloats::widened},
                                  {ops::Tan::kind, tan, HalfFloats::widened},
                                  {ops::Asin::kind, asin, HalfFloats::widened},
                                  {ops::Acos::kind, acos, HalfFloats::widened},
                                  {ops::Atan::kind, atan, HalfFloats::widened},
                                  {ops::Sinh::kind, sinh, HalfFloats::widened},
                                  {ops::Cosh::kind, cosh, HalfFloats::widened},
                                  {ops::Tanh::kind, tanh, HalfFloats::widened},
                                  {ops::Asinh::kind, asinh, HalfFloats::widened},
                                  {ops::Acosh::kind, acosh, HalfFloats::widened},
                                  {ops::Atanh::kind, atanh, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
