#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/windows.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/window.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Columns [batch, channels * taps, positions] are what a window reads; each pixel of the image is
// the sum of what was read from it.
Expected<Tensors> col2im(const KernelCall& call) {
  using Integers = std::vector<std::int64_t>;
  QUADRANT_CHECK(require_operands(call, 3));
  const Tensor& columns = call.operand(0);
  QUADRANT_TRY(const Integers image, integers_of(call.operand(1)));
  QUADRANT_TRY(const Integers block, integers_of(call.operand(2)));
  QUADRANT_TRY(const Window window, sliding_window(call, image, block));
  const std::int64_t taps = tap_count(window);
  const std::int64_t positions = position_count(window);
  if (columns.rank() != 3 || columns.extent(1) % taps != 0 || columns.extent(2) != positions) {
    return KernelCall::refuse(fmt::format("columns of shape [{}] for {} taps at {} positions",
                                          to_string(columns.shape()), taps, positions));
  }
  Integers extents{columns.extent(0), columns.extent(1) / taps};
  extents.insert(extents.end(), image.begin(), image.end());
  return with_element(columns.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(columns.element(), Shape(extents)));
    const auto out = y.fill<T>();
    std::ranges::fill(out, T{});
    if (out.empty()) return Tensors{std::move(y)};
    TapWalk walk(window, all_positions(window));
    const T* column = columns.as<T>().data();
    const std::int64_t pixels = pixel_count(window);
    for (T* plane = out.data(); plane != out.data() + out.size(); plane += pixels) {
      walk.for_each_row([&](const TapWalk::Row& row) {
        const T* in = column + row.tap * positions + row.position;
        T* pixel = plane + row.pixel;
        for (std::int64_t i = 0; i < row.length; ++i) {
          T& sum = pixel[i * walk.pixel_step()];
          sum = static_cast<T>(sum + in[i]);
        }
      });
      column += taps * positions;
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_col2im() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Col2Im::kind, col2im, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
