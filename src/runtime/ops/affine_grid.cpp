#include <fmt/format.h>

#include "ir/ops/windows.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Where the pixels of an axis lie when it goes from -1 to 1: the outermost ones on the ends, or
// half a pixel before them. A single one on the ends lies at 1, as in ONNX Runtime.
template <class T>
T pixel_at(std::int64_t i, std::int64_t extent, bool align_corners) {
  const auto index = static_cast<T>(i);
  const auto count = static_cast<T>(extent);
  if (!align_corners) return (2 * index + 1) / count - 1;
  return extent == 1 ? 1 : 2 * index / (count - 1) - 1;
}

Expected<Tensors> affine_grid(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& theta = call.operand(0);
  QUADRANT_TRY(const Integers size, integers_of(call.operand(1)));  // N, C, [D,] H, W
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  if ((axes != 2 && axes != 3) || theta.shape() != Shape{size[0], axes, axes + 1}) {
    return KernelCall::refuse(
        fmt::format("theta of shape [{}] for a grid of {} axes", to_string(theta.shape()), axes));
  }
  Integers extents = size;
  extents.erase(extents.begin() + 1);
  const Integers image(extents.begin() + 1, extents.end());
  extents.push_back(axes);
  const bool align_corners = call.attribute_or<std::int64_t>("align_corners", 0) != 0;
  return with_real(theta.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(theta.element(), Shape(extents)));
    const std::int64_t pixels = y.element_count() == 0 ? 0 : count_between(Shape(image), 0, axes);
    T* out = y.fill<T>().data();
    for (std::int64_t i = 0; i < y.element_count() / axes; ++i) {
      // x, y, z: from the last axis to the first; then a 1.
      std::array<T, 4> point{};
      std::int64_t rest = i % pixels;
      for (std::size_t k = 0; k < image.size(); ++k) {
        const std::int64_t extent = image[image.size() - 1 - k];
        point[k] = pixel_at<T>(rest % extent, extent, align_corners);
        rest /= extent;
      }
      point[image.size()] = 1;
      const T* matrix = theta.as<T>().data() + i / pixels * axes * (axes + 1);
      for (std::int64_t row = 0; row < axes; ++row) {
        T sum = 0;
        for (std::size_t k = 0; k <= image.size(); ++k) sum += *matrix++ * point[k];
        *out++ = sum;
      }
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_affine_grid() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::AffineGrid::kind, affine_grid, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
