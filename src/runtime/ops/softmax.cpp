// Softmax, LogSoftmax, Hardmax: along an axis, and before opset 13 over all axes from that one on.
#include "runtime/ops/softmax.hpp"

#include "ir/ops/normalization.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class Function>
Expected<Tensors> along_axis(const KernelCall& call, Function function) {
  const bool flattens = call.opset() < 13;
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, flattens ? 1 : -1, x.rank()));
  const Lanes lanes = flattens ? lanes_from(x.shape(), axis) : lanes_along(x.shape(), axis);
  return map_lanes(call, lanes, function);
}

Expected<Tensors> softmax(const KernelCall& call) {
  return along_axis(call, []<class T>(std::span<T> lane) { to_softmax(lane); });
}

Expected<Tensors> log_softmax(const KernelCall& call) {
  return along_axis(call, []<class T>(std::span<T> lane) { to_log_softmax(lane); });
}

Expected<Tensors> hardmax(const KernelCall& call) {
  return along_axis(call, []<class T>(std::span<T> lane) {
    const auto first = std::ranges::max_element(lane) - lane.begin();
    std::ranges::fill(lane, T{0});
    lane[static_cast<std::size_t>(first)] = 1;
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_softmax() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Softmax::kind, softmax, HalfFloats::widened},
                                  {ops::LogSoftmax::kind, log_softmax, HalfFloats::widened},
                                  {ops::Hardmax::kind, hardmax, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
