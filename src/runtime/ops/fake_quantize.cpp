#include "numerics/fake_quantize.hpp"

#include <algorithm>
#include <array>

#include "quadrant/ir/ops.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Operands: X, input_low, input_high, output_low, output_high.
Expected<Tensors> fake_quantize(const KernelCall& call) {
  constexpr std::size_t count = 5;
  QUADRANT_CHECK(require_operands(call, count));
  const ops::FakeQuantize view{call.node()};
  const auto levels = view.levels();
  if (!levels) return KernelCall::refuse("the attribute 'levels' is missing or less than 2");
  const Tensor& x = call.operand(0);
  std::array<std::vector<std::int64_t>, count> strides{x.shape().strides()};
  for (std::size_t i = 1; i < count; ++i) {
    const Tensor& bound = call.operand(i);
    QUADRANT_CHECK(check_alike(x, bound));
    QUADRANT_TRY(const Shape aligned, view.aligned(bound.shape(), x.shape()));
    strides[i] = broadcast_strides(aligned, x.shape());
  }
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    std::array<const T*, count> in{};
    for (std::size_t i = 0; i < count; ++i) in[i] = call.operand(i).as<T>().data();
    T* const out = y.fill<T>().data();
    for_each_run(
        y.shape(), strides,
        [&](std::int64_t position, const std::array<std::int64_t, count>& offsets,
            std::int64_t length, const std::array<std::int64_t, count>& steps) {
          const auto at = [&](std::size_t k, std::int64_t i) {
            return in[k][offsets[k] + i * steps[k]];
          };
          const auto bounds_at = [&](std::int64_t i) {
            return FakeQuantizeBounds<T>{at(1, i), at(2, i), at(3, i), at(4, i)};
          };
          const auto run = [&](auto bounds_of) {
            for (std::int64_t i = 0; i < length; ++i) {
              out[position + i] = quadrant::fake_quantize(at(0, i), bounds_of(i), *levels);
            }
          };
          // Bounds that all share are read once.
          if (std::all_of(steps.begin() + 1, steps.end(), [](auto step) { return step == 0; })) {
            run([first = bounds_at(0)](std::int64_t /*i*/) { return first; });
          } else {
            run(bounds_at);
          }
        });
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_fake_quantize() noexcept {
  // Operands are of one type; OpenVINO computes half floats in float32, too.
  static constexpr auto table =
      std::to_array<KernelEntry>({{"fake_quantize", fake_quantize, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
