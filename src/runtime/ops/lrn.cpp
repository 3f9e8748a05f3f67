// LRN: divides each element by what it and its neighbours in the next channels amount to,
// (bias + alpha / size * sum of their squares) ^ beta.
#include <cmath>

#include "ir/ops/normalization.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> lrn(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  if (x.rank() < 2) {
    return KernelCall::refuse(
        fmt::format("data of shape [{}], where [N, C, ...] is wanted", to_string(x.shape())));
  }
  const auto size = call.attribute_or<std::int64_t>("size", 0);
  if (size <= 0) return KernelCall::refuse(fmt::format("size {}", size));
  // `size` channels: half of them before, and one more behind where it is even.
  const Lanes lanes = lanes_along(x.shape(), 1);
  const auto before = static_cast<std::size_t>(std::min((size - 1) / 2, lanes.length));
  const auto after = static_cast<std::size_t>(std::min(size / 2, lanes.length));
  const double alpha = call.attribute_or("alpha", 1e-4) / static_cast<double>(size);
  const double beta = call.attribute_or("beta", 0.75);
  const double bias = call.attribute_or("bias", 1.0);
  std::vector<double> sums;  // of the squares of the channels before
  return map_lanes(call, lanes, [&]<class T>(std::span<T> lane) {
    sums.assign(1, 0);
    for (const T value : lane) sums.push_back(sums.back() + double{value} * value);
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const double near =
          sums[std::min(i + after + 1, lane.size())] - sums[i - std::min(i, before)];
      lane[i] = static_cast<T>(lane[i] / std::pow(bias + alpha * near, beta));
    }
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_lrn() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::LRN::kind, lrn, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
