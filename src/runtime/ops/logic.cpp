// Comparisons of numbers, operations of booleans, and what numbers are.
#include <cmath>

#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Whether `relation` holds between operands 0 and 1.
template <class Relation>
Expected<Tensors> compare(const KernelCall& call, Relation relation) {
  return with_number(call.operand(0).element(), [&]<class T>() {
    return map_pairs<T>(call.operand(0), call.operand(1),
                        [&](T a, T b) -> bool { return relation(a, b); });
  });
}

template <class Function>
Expected<Tensors> map_booleans(const KernelCall& call, Function function) {
  if (call.operand(0).element() != ElementType::boolean) {
    return KernelCall::refuse(fmt::format("operands of type {}, where booleans are wanted",
                                          to_string(call.operand(0).element())));
  }
  return map_pairs<bool>(call.operand(0), call.operand(1), function);
}

// --- comparisons ---------------------------------------------------------------------------------

Expected<Tensors> equal(const KernelCall& call) {
  if (call.operand(0).element() == ElementType::boolean) {
    return map_booleans(call, std::equal_to<>());
  }
  return compare(call, std::equal_to<>());
}

Expected<Tensors> less(const KernelCall& call) { return compare(call, std::less<>()); }

Expected<Tensors> less_or_equal(const KernelCall& call) {
  return compare(call, std::less_equal<>());
}

Expected<Tensors> greater(const KernelCall& call) { return compare(call, std::greater<>()); }

Expected<Tensors> greater_or_equal(const KernelCall& call) {
  return compare(call, std::greater_equal<>());
}

// --- booleans ------------------------------------------------------------------------------------

Expected<Tensors> logical_and(const KernelCall& call) {
  return map_booleans(call, [](bool a, bool b) { return a && b; });
}

Expected<Tensors> logical_or(const KernelCall& call) {
  return map_booleans(call, [](bool a, bool b) { return a || b; });
}

Expected<Tensors> logical_xor(const KernelCall& call) {
  return map_booleans(call, std::not_equal_to<>());
}

Expected<Tensors> logical_not(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  if (x.element() == ElementType::boolean) return map_each<bool>(x, std::logical_not<>());
  return KernelCall::refuse(
      fmt::format("operands of type {}, where booleans are wanted", to_string(x.element())));
}

// --- what numbers are ----------------------------------------------------------------------------

Expected<Tensors> detect_nan(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_real(x.element(), [&]<class T>() {
    return map_each<T>(x, [](T value) -> bool { return std::isnan(value); });
  });
}

Expected<Tensors> detect_infinity(const KernelCall& call) {
  const bool negative = call.attribute_or<std::int64_t>("detect_negative", 1) != 0;
  const bool positive = call.attribute_or<std::int64_t>("detect_positive", 1) != 0;
  const Tensor& x = call.operand(0);
  return with_real(x.element(), [&]<class T>() {
    return map_each<T>(
        x, [&](T value) -> bool { return std::isinf(value) && (value < 0 ? negative : positive); });
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_logic() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::Equal::kind, equal, HalfFloats::widened},
       {ops::Less::kind, less, HalfFloats::widened},
       {ops::LessOrEqual::kind, less_or_equal, HalfFloats::widened},
       {ops::Greater::kind, greater, HalfFloats::widened},
       {ops::GreaterOrEqual::kind, greater_or_equal, HalfFloats::widened},
       {ops::And::kind, logical_and},
       {ops::Or::kind, logical_or},
       {ops::Xor::kind, logical_xor},
       {ops::Not::kind, logical_not},
       {ops::IsNaN::kind, detect_nan, HalfFloats::widened},
       {ops::IsInf::kind, detect_infinity, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
