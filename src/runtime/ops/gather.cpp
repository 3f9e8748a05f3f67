// Operations that take elements by their indices.
#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/indices.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Copies `count` elements from each of `offsets` on, one after the other, to `out` on.
std::byte* copy_slices(const Tensor& x, const Integers& offsets, std::int64_t base,
                       std::int64_t count, std::byte* out) {
  const std::int64_t width = byte_width(x.element());
  for (const std::int64_t offset : offsets) {
    out = std::copy_n(x.bytes().data() + (base + offset) * width, count * width, out);
  }
  return out;
}

Expected<Tensors> gather(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 0, x.rank()));
  QUADRANT_TRY(Integers offsets, indices_below(indices, x.extent(axis)));
  QUADRANT_TRY(Tensor y,
               Tensor::make(x.element(), gathered_shape(x.shape(), axis, indices.shape())));
  if (y.element_count() == 0) return Tensors{std::move(y)};
  const std::int64_t count = count_between(x.shape(), axis + 1, x.rank());
  for (std::int64_t& offset : offsets) offset *= count;
  std::byte* out = y.fill_bytes().data();
  const std::int64_t block = count * x.extent(axis);
  for (std::int64_t base = 0; base < x.element_count(); base += block) {
    out = copy_slices(x, offsets, base, count, out);
  }
  return Tensors{std::move(y)};
}

Expected<Tensors> gather_nd(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  QUADRANT_TRY(const Slices slices,
               slices_of(x.shape(), indices, call.attribute_or<std::int64_t>("batch_dims", 0)));
  Integers extents = extents_between(indices.shape(), 0, indices.rank() - 1);
  extents.insert(extents.end(), slices.extents.begin(), slices.extents.end());
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), Shape(extents)));
  if (y.element_count() > 0) copy_slices(x, slices.offsets, 0, slices.size, y.fill_bytes().data());
  return Tensors{std::move(y)};
}

Expected<Tensors> gather_elements(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, 0, x.rank()));
  QUADRANT_TRY(const Integers offsets, offsets_along(x.shape(), indices, axis));
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), indices.shape()));
  copy_slices(x, offsets, 0, 1, y.fill_bytes().data());
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_gather() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{"gather", gather},
                                  {ops::GatherND::kind, gather_nd},
                                  {ops::GatherElements::kind, gather_elements}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
