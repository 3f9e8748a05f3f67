#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/layout.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

// Where the update of each batch begins along the axis; at 0 where that is not said.
Expected<Integers> first_indices(const KernelCall& call, std::int64_t batches) {
  if (!call.has(2)) return Integers(static_cast<std::size_t>(batches), 0);
  QUADRANT_TRY(Integers first, integers_of(call.operand(2)));
  if (static_cast<std::int64_t>(first.size()) == batches) return first;
  return KernelCall::refuse(fmt::format("{} indices for {} batches", first.size(), batches));
}

// The axis along which the update may be shorter than the cache.
Expected<std::int64_t> sequence_axis(const KernelCall& call) {
  const Tensor& cache = call.operand(0);
  const Tensor& update = call.operand(1);
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(call, -2, cache.rank()));
  bool fits = axis > 0 && cache.element() == update.element() && cache.rank() == update.rank();
  for (std::int64_t i = 0; fits && i < cache.rank(); ++i) {
    fits = i == axis ? update.extent(i) <= cache.extent(i) : update.extent(i) == cache.extent(i);
  }
  if (fits) return axis;
  return KernelCall::refuse(fmt::format(
      "an update of {} [{}] for {} [{}] along axis {}", to_string(update.element()),
      to_string(update.shape()), to_string(cache.element()), to_string(cache.shape()), axis));
}

Expected<Tensors> tensor_scatter(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& cache = call.operand(0);
  const Tensor& update = call.operand(1);
  QUADRANT_TRY(const std::int64_t axis, sequence_axis(call));
  QUADRANT_TRY(const Integers first, first_indices(call, cache.extent(0)));
  const bool circular = call.attribute_or<std::string>("mode", "linear") == "circular";

  Layout from{.offset = 0, .steps = update.shape().strides()};
  Layout to{.offset = 0, .steps = cache.shape().strides()};
  QUADRANT_TRY(Tensor y, take_box(cache.shape(), cache, to));
  if (update.element_count() == 0) return Tensors{std::move(y)};
  const auto along = static_cast<std::size_t>(axis);
  const std::int64_t room = cache.extent(axis);
  const std::int64_t length = update.extent(axis);
  Integers box = extents_between(update.shape(), 0, update.rank());
  box[0] = 1;
  for (std::int64_t batch = 0; batch < cache.extent(0); ++batch) {
    const std::int64_t index = first[static_cast<std::size_t>(batch)];
    const std::int64_t start = circular ? (index % room + room) % room : index;
    if (start < 0 || (!circular && start > room - length)) {
      return KernelCall::refuse(
          fmt::format("{} elements from index {} on, where there are {}", length, start, room));
    }
    // What reaches beyond the end goes on at the beginning.
    const std::int64_t before_end = std::min(length, room - start);
    from.offset = batch * from.steps[0];
    to.offset = batch * to.steps[0] + start * to.steps[along];
    box[along] = before_end;
    copy_box(Shape(box), update, from, y, to);
    from.offset += before_end * from.steps[along];
    to.offset = batch * to.steps[0];
    box[along] = length - before_end;
    copy_box(Shape(box), update, from, y, to);
  }
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_tensor_scatter() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::TensorScatter::kind, tensor_scatter}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
