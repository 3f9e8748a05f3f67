#include "runtime/ops/indices.hpp"

#include <fmt/format.h>

#include <utility>

#include "quadrant/ir/ops.hpp"
#include "runtime/broadcast.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<std::int64_t> index_below(std::int64_t index, std::int64_t extent) {
  // Counts from the end as an axis does.
  if (const auto normal = normalize_axis(index, extent)) return *normal;
  return KernelCall::refuse(
      fmt::format("index {} into an axis that has {} elements", index, extent));
}

}  // namespace

Expected<std::vector<std::int64_t>> indices_below(const Tensor& indices, std::int64_t extent) {
  QUADRANT_TRY(std::vector<std::int64_t> list, integers_of(indices));
  for (std::int64_t& index : list) {
    QUADRANT_TRY(index, index_below(index, extent));
  }
  return list;
}

Shape gathered_shape(const Shape& shape, std::int64_t axis, const Shape& indices) {
  std::vector<std::int64_t> extents = extents_between(shape, 0, axis);
  extents.insert(extents.end(), indices.known_extents().begin(), indices.known_extents().end());
  extents.insert(extents.end(), shape.known_extents().begin() + axis + 1,
                 shape.known_extents().end());
  return Shape(extents);
}

Expected<std::vector<std::int64_t>> offsets_along(const Shape& shape, const Tensor& indices,
                                                  std::int64_t axis) {
  bool fits = indices.rank() == shape.rank();
  for (std::int64_t i = 0; fits && i < shape.rank(); ++i) {
    fits = i == axis || indices.extent(i) <= shape[i].value();
  }
  if (!fits) {
    return KernelCall::refuse(fmt::format("indices of shape [{}] along axis {} of [{}]",
                                          to_string(indices.shape()), axis, to_string(shape)));
  }
  QUADRANT_TRY(std::vector<std::int64_t> offsets, indices_below(indices, shape[axis].value()));
  if (offsets.empty()) return offsets;
  std::vector<std::int64_t> steps = shape.strides();
  const std::int64_t along = std::exchange(steps[static_cast<std::size_t>(axis)], 0);
  for_each_run(indices.shape(), std::array{steps},
               [&](std::int64_t position, const std::array<std::int64_t, 1>& start,
                   std::int64_t length, const std::array<std::int64_t, 1>& step) {
                 for (std::int64_t i = 0; i < length; ++i) {
                   std::int64_t& offset = offsets[static_cast<std::size_t>(position + i)];
                   offset = offset * along + start[0] + i * step[0];
                 }
               });
  return offsets;
}

Expected<Slices> slices_of(const Shape& shape, const Tensor& indices, std::int64_t batch_axes) {
  const std::int64_t index_axes = indices.rank() - 1;
  if (batch_axes < 0 || batch_axes > index_axes || batch_axes > shape.rank()) {
    return KernelCall::refuse(fmt::format("{} batch axes of tensors with shapes [{}] and [{}]",
                                          batch_axes, to_string(shape),
                                          to_string(indices.shape())));
  }
  const std::int64_t tuple = indices.extent(index_axes);
  if (tuple > shape.rank() - batch_axes) {
    return KernelCall::refuse(
        fmt::format("tuples of {} indices into a tensor of shape [{}]", tuple, to_string(shape)));
  }
  if (extents_between(shape, 0, batch_axes) != extents_between(indices.shape(), 0, batch_axes)) {
    return KernelCall::refuse(fmt::format("batches of shapes [{}] and [{}]", to_string(shape),
                                          to_string(indices.shape())));
  }
  const std::vector<std::int64_t> strides = shape.strides();
  const std::int64_t first = batch_axes + tuple;
  Slices slices{.extents = extents_between(shape, first, shape.rank()),
                .size = count_between(shape, first, shape.rank())};
  const std::int64_t batch_size = count_between(shape, batch_axes, shape.rank());
  const std::int64_t per_batch = count_between(indices.shape(), batch_axes, index_axes);
  QUADRANT_TRY(const std::vector<std::int64_t> list, integers_of(indices));
  const std::int64_t count = count_between(indices.shape(), 0, index_axes);
  // Without elements there is nothing to take, and tuples may be many.
  if (slices.size == 0 || per_batch == 0) return slices;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = i / per_batch * batch_size;
    for (std::int64_t k = 0; k < tuple; ++k) {
      const std::int64_t axis = batch_axes + k;
      QUADRANT_TRY(const std::int64_t index,
                   index_below(list[static_cast<std::size_t>(i * tuple + k)], shape[axis].value()));
      offset += index * strides[static_cast<std::size_t>(axis)];
    }
    slices.offsets.push_back(offset);
  }
  return slices;
}

}  // namespace quadrant::inline v0::interpreted
