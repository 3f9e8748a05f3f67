#include "io/tflite/spread.hpp"

#include <algorithm>

#include "io/tflite/failure.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

std::int64_t divided(std::int64_t extent, std::int64_t by) { return (extent + by - 1) / by; }

Spread single_of(const Shape& data) {
  const std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  return {.data = extents,
          .parameters = std::vector<Extent>(extents.size(), 1),
          .blocks = std::vector<std::int64_t>(extents.size(), 1)};
}

}  // namespace

std::size_t Spread::parameter_of(std::int64_t i) const {
  std::int64_t at = 0;
  std::int64_t step = 1;
  for (std::size_t axis = data.size(); axis-- > 0;) {
    const std::int64_t index = i % data[axis].value();
    i /= data[axis].value();
    const std::int64_t count = parameters[axis].value();
    if (count != 1) at += index / blocks[axis] * step;
    step *= count;
  }
  return static_cast<std::size_t>(at);
}

Spread spread_of(const Shape& data, const Granularity& granularity) {
  Spread spread = single_of(data);
  if (granularity.kind == Granularity::Kind::tensor) return spread;
  const auto axis = static_cast<std::size_t>(granularity.axis);
  if (axis >= spread.data.size()) invalid("scales along an axis that the codes do not have");
  if (granularity.kind == Granularity::Kind::axis) {
    spread.parameters[axis] = spread.data[axis];
    return spread;
  }
  if (granularity.block_size < 1) invalid("blocks without elements");
  if (!spread.data[axis].is_known()) impossible("blocks of an unknown extent");
  spread.parameters = spread.data;
  spread.blocks[axis] = granularity.block_size;
  spread.parameters[axis] = divided(spread.data[axis].value(), granularity.block_size);
  return spread;
}

Spread spread_of(const NodeRef& node, const Shape& data, const Shape& parameters) {
  Spread spread = single_of(data);
  const auto given = normalize_axis(node.attribute_or<std::int64_t>("axis", 1), data.rank());
  const auto size = node.attribute_or<std::int64_t>("block_size", 0);
  if (parameters.element_count() == 1) return spread;
  if (parameters.rank() == 1 && size == 0) {
    if (!given) impossible("an axis outside of the operand");
    const auto axis = static_cast<std::size_t>(*given);
    spread.parameters[axis] = parameters[0];
    if (!may_equal(spread.data[axis], parameters[0])) {
      invalid("other scales than the axis has indices");
    }
    return spread;
  }
  if (parameters.rank() != data.rank()) invalid("scales of another rank than the codes");
  for (std::size_t axis = 0; axis < spread.data.size(); ++axis) {
    const Extent whole = spread.data[axis];
    spread.parameters[axis] = parameters.extents()[axis];
    if (surely_equal(spread.parameters[axis], 1) || surely_equal(spread.parameters[axis], whole)) {
      continue;
    }
    const std::int64_t extent = whole.value_or(0);
    const std::int64_t count = spread.parameters[axis].value_or(0);
    if (extent < 1 || count < 1) impossible("blocks of an unknown extent");
    const bool is_along = given == static_cast<std::int64_t>(axis) && size > 0;
    spread.blocks[axis] = is_along ? size : divided(extent, count);
    if (divided(extent, spread.blocks[axis]) > count) invalid("fewer scales than blocks");
  }
  return spread;
}

}  // namespace quadrant::inline v0::tflite
