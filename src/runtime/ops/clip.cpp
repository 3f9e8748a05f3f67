#include "ir/ops/elementwise.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// The bound that is operand `index`, or, before opset 11, an attribute; `fallback` without it.
template <class T>
Expected<T> bound(const KernelCall& call, std::size_t index, std::string_view attribute,
                  T fallback) {
  if (call.opset() < 11) {
    return converted<T>(call.attribute_or(attribute, static_cast<double>(fallback)));
  }
  const Tensor& given = call.operand(index);
  if (!given) return fallback;
  if (given.element() != call.operand(0).element() || given.element_count() != 1) {
    return KernelCall::refuse(fmt::format("{} of type {} and shape [{}], where one {} is wanted",
                                          attribute, to_string(given.element()),
                                          to_string(given.shape()),
                                          to_string(call.operand(0).element())));
  }
  return given.as<T>()[0];
}

// Where the bounds cross, the upper one holds. NaN stays.
Expected<Tensors> clip(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_number(x.element(), [&]<class T>() -> Expected<Tensors> {
    using Limits = std::numeric_limits<T>;
    QUADRANT_TRY(const T low, bound<T>(call, 1, "min", Limits::lowest()));
    QUADRANT_TRY(const T high, bound<T>(call, 2, "max", Limits::max()));
    return map_each<T>(x, [&](T value) {
      const T raised = value < low ? low : value;
      return raised > high ? high : raised;
    });
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_clip() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Clip::kind, clip, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
