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
  groups.run_length_ = std::max<std::int64_t>(*count, 1);
  if (granularity.kind == Granularity::Kind::tensor) return groups;

  if (granularity.kind == Granularity::Kind::block) {
    return fail(ErrorCode::impossible,
                "scales per block are not supported yet: choose per axis or per tensor");
  }
  const std::int64_t axis = granularity.axis;
  if (axis < 0 || axis >= shape.rank()) {
    return fail(
        ErrorCode::impossible,
        fmt::format("there is no axis {} in a tensor of shape [{}]: axes are counted from 0", axis,
                    to_string(shape)));
  }
  groups.group_count_ = shape[axis];
  if (*count == 0) {
    // Nothing but the parameters would take memory here, and a shape alone can ask for any amount.
    constexpr std::int64_t most = 1 << 16;
    if (groups.group_count_ > most) {
      return fail(ErrorCode::impossible,
                  fmt::format("a tensor of shape [{}] is empty and would get {} scales",
                              to_string(shape), groups.group_count_));
    }
    return groups;
  }
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  if (groups.group_count_ == 1) return groups;  // the same as per tensor, in one run
  groups.interleaved_ = inner == 1;
  groups.run_length_ = groups.interleaved_ ? groups.group_count_ : inner;
  return groups;
}

}  // namespace quadrant::inline v0
