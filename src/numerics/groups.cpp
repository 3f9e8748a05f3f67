#include "numerics/groups.hpp"

#include <fmt/format.h>

namespace quadrant::inline v0 {

Expected<Groups> Groups::of(const Shape& shape, const Granularity& granularity) {
  const auto count = shape.element_count();
  if (!count) {
    return fail(ErrorCode::impossible,
                fmt::format("a tensor of shape [{}] cannot be quantized: its size must be known",
                            to_string(shape)));
  }
  Groups groups;
  groups.element_count_ = *count;
  groups.cycle_length_ = groups.run_length_ = groups.inner_ = std::max<std::int64_t>(*count, 1);
  if (granularity.kind == Granularity::Kind::tensor) return groups;

  const std::int64_t axis = granularity.axis;
  if (axis < 0 || axis >= shape.rank()) {
    return fail(
        ErrorCode::impossible,
        fmt::format("there is no axis {} in a tensor of shape [{}]: axes are counted from 0", axis,
                    to_string(shape)));
  }
  const bool blocks = granularity.kind == Granularity::Kind::block;
  if (blocks && granularity.block_size < 1) {
    return fail(ErrorCode::impossible,
                fmt::format("blocks of {} elements: choose 1 or more", granularity.block_size));
  }
  if (*count == 0) {
    groups.group_count_ =
        blocks ? 0 : shape[axis].value();  // of blocks there are none in any direction
    // Nothing but the parameters would take memory here, and a shape alone can ask for any amount.
    constexpr std::int64_t most = 1 << 16;
    if (groups.group_count_ > most) {
      return fail(ErrorCode::impossible,
                  fmt::format("a tensor of shape [{}] is empty and would get {} scales",
                              to_string(shape), groups.group_count_));
    }
    return groups;
  }

  std::int64_t extent = shape[axis].value();
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i].value();
  if (blocks && granularity.block_size > 1) {
    const std::int64_t size = std::min(granularity.block_size, extent);
    groups.cycle_length_ = extent * inner;
    groups.groups_per_cycle_ = ((extent - 1) / size + 1) * inner;
    groups.group_count_ = *count / groups.cycle_length_ * groups.groups_per_cycle_;
    groups.interleaved_ = inner > 1;
    groups.run_length_ = groups.interleaved_ ? inner : size;
    groups.runs_per_group_ = groups.interleaved_ ? size : 1;
    groups.group_step_ = groups.inner_ = inner;
    groups.seamless_ = !groups.interleaved_ && extent % size == 0;
    return groups;
  }
  if (blocks) {  // each element has a scale of its own, in the same order
    extent = *count;
    inner = 1;
  }
  if (extent == 1) return groups;  // the same as per tensor, in one run
  groups.group_count_ = extent;
  groups.cycle_length_ = extent * inner;
  groups.interleaved_ = groups.seamless_ = inner == 1;
  groups.run_length_ = groups.interleaved_ ? extent : inner;
  groups.inner_ = inner;
  return groups;
}

RunBatch Groups::batch_at(std::int64_t element, std::int64_t most,
                          std::size_t position) const noexcept {
  const std::int64_t in_cycle = element % cycle_length_;
  const std::int64_t run = in_cycle / run_length_;
  const std::int64_t inside = in_cycle % run_length_;
  const std::int64_t in_this_cycle = std::min(cycle_length_ - in_cycle, most);
  const std::int64_t length = std::min(run_length_ - inside, in_this_cycle);
  std::int64_t runs = 1;
  if (length == run_length_) {
    runs = (seamless_ ? most : in_this_cycle) / run_length_;
    if (runs_per_group_ > 1) runs = std::min(runs, runs_per_group_ - run % runs_per_group_);
  }
  const std::int64_t group =
      element / cycle_length_ * groups_per_cycle_ + run / runs_per_group_ * group_step_;
  return {.group = static_cast<std::size_t>(interleaved_ ? group + inside : group),
          .position = position,
          .length = static_cast<std::size_t>(length),
          .runs = static_cast<std::size_t>(runs)};
}

std::size_t Groups::runs_alike(std::int64_t first, std::int64_t step, std::size_t length,
                               std::size_t count) const noexcept {
  if (!interleaved_) return 1;
  const auto most = static_cast<std::int64_t>(length);
  const RunBatch batch = batch_at(first, most, 0);
  if (batch.length != length) return 1;
  for (std::size_t alike = 1; alike < count; ++alike) {
    first += step;
    const RunBatch next = batch_at(first, most, 0);
    if (next.group != batch.group || next.length != length) return alike;
  }
  return count;
}

Members Groups::members(std::int64_t group) const noexcept {
  if (element_count_ == 0) return {};
  if (groups_per_cycle_ == 0) {
    return {group * inner_, inner_, cycle_length_, element_count_ / cycle_length_};
  }
  // The longest a group of blocks reaches: `size` rows of `inner_` elements.
  const std::int64_t reach = run_length_ * runs_per_group_;
  const std::int64_t in_cycle = group % groups_per_cycle_;
  const std::int64_t begin = in_cycle / inner_ * reach;
  const std::int64_t first = group / groups_per_cycle_ * cycle_length_ + begin + in_cycle % inner_;
  const std::int64_t size = std::min(reach, cycle_length_ - begin) / inner_;
  if (interleaved_) return {first, 1, inner_, size};
  return {first, size, 0, 1};
}

}  // namespace quadrant::inline v0
