// InstanceNormalization and GroupNormalization: each sample's channels, one by one or in groups of
// neighbours, by their own mean and deviation.
#include "ir/ops/normalization.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"
#include "runtime/ops/standardize.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// `parameter_count`: that many scales and biases lie along axis 1.
Expected<Tensors> normalized(const KernelCall& call, std::int64_t groups,
                             std::int64_t parameter_count) {
  const Tensor& x = call.operand(0);
  const std::int64_t row_length = lanes_from(x.shape(), 1).length / groups;
  QUADRANT_TRY(Standardized rows, standardize_rows(x, row_length, Spread::deviation,
                                                   call.attribute_or("epsilon", 1e-5)));
  const std::int64_t per_parameter = lanes_from(x.shape(), 1).length / parameter_count;
  const Shape view{x.extent(0), parameter_count, per_parameter};
  QUADRANT_TRY(const Tensor scale, channel_column(call.operand(1), parameter_count));
  QUADRANT_TRY(const Tensor bias, channel_column(call.operand(2), parameter_count));
  QUADRANT_CHECK(scale_and_shift(rows.values, view, scale, bias));
  return Tensors{std::move(rows.values)};
}

Expected<std::int64_t> channels_of(const Tensor& x) {
  if (x.rank() >= 2 && x.extent(1) > 0) return x.extent(1);
  return KernelCall::refuse(
      fmt::format("data of shape [{}], where [N, C, ...] is wanted", to_string(x.shape())));
}

Expected<Tensors> instance_normalization(const KernelCall& call) {
  QUADRANT_TRY(const std::int64_t channels, channels_of(call.operand(0)));
  return normalized(call, channels, channels);
}

// Before opset 21, a scale belonged to a group.
Expected<Tensors> group_normalization(const KernelCall& call) {
  QUADRANT_TRY(const std::int64_t channels, channels_of(call.operand(0)));
  const auto groups = call.attribute_or<std::int64_t>("num_groups", 0);
  if (groups <= 0 || channels % groups != 0) {
    return KernelCall::refuse(fmt::format("{} groups of {} channels", groups, channels));
  }
  return normalized(call, groups, call.opset() < 21 ? groups : channels);
}

}  // namespace

std::span<const KernelEntry> kernels::in_group_normalization() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::InstanceNormalization::kind, instance_normalization, HalfFloats::widened},
       {ops::GroupNormalization::kind, group_normalization, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
