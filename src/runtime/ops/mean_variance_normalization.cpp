// MeanVarianceNormalization: mean 0 and variance 1 over some axes, by default all but the channels.
#include <cmath>

#include "ir/ops/normalization.hpp"
#include "runtime/broadcast.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Added to the deviation, as the operator's definition has it.
constexpr double tiny = 1e-9;

// The extents of the statistics: 1 along the axes that are normalized.
Expected<Shape> statistics_shape(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::vector<std::int64_t> axes,
               axes_below(call.attribute_or("axes", std::vector<std::int64_t>{0, 2, 3}), x.rank()));
  std::vector<std::int64_t> extents = extents_between(x.shape(), 0, x.rank());
  for (const std::int64_t axis : axes) extents[static_cast<std::size_t>(axis)] = 1;
  return Shape(extents);
}

Expected<Tensors> mean_variance_normalization(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const Shape groups, statistics_shape(call));
  const auto group_count = static_cast<std::size_t>(groups.element_count().value_or(0));
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor result, Tensor::make(x.element(), x.shape()));
    if (x.element_count() == 0) return Tensors{std::move(result)};
    const T* in = x.as<T>().data();
    T* out = result.fill<T>().data();
    const std::array strides{broadcast_strides(groups, x.shape())};
    // Calls `body(i, group)` for each element.
    const auto for_each = [&](auto body) {
      for_each_run(x.shape(), strides,
                   [&](std::int64_t position, const std::array<std::int64_t, 1>& offset,
                       std::int64_t length, const std::array<std::int64_t, 1>& step) {
                     for (std::int64_t i = 0; i < length; ++i) {
                       body(position + i, static_cast<std::size_t>(offset[0] + i * step[0]));
                     }
                   });
    };
    const double count = static_cast<double>(x.element_count()) / static_cast<double>(group_count);
    std::vector<double> mean(group_count, 0);
    std::vector<double> variance(group_count, 0);
    for_each([&](std::int64_t i, std::size_t group) { mean[group] += in[i] / count; });
    for_each([&](std::int64_t i, std::size_t group) {
      variance[group] += (in[i] - mean[group]) * (in[i] - mean[group]) / count;
    });
    for_each([&](std::int64_t i, std::size_t group) {
      out[i] = static_cast<T>((in[i] - mean[group]) / (std::sqrt(variance[group]) + tiny));
    });
    return Tensors{std::move(result)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_mean_variance_normalization() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::MeanVarianceNormalization::kind, mean_variance_normalization, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
