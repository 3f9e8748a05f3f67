#include "numerics/fake_quant_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/fake_quantize.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<std::vector<FakeQuantRange>> known_ranges(NodeRef node) {
  if (node.kind() == ops::ConstFakeQuant::kind) return ops::ConstFakeQuant{node}.ranges();
  std::array<std::vector<double>, 2> bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Constant* const constant = node.operand_constant(i + 1);
    if (constant == nullptr) return fail(ErrorCode::impossible, "its bounds are computed");
    QUADRANT_TRY(bounds[i], read_reals(*constant));
  }
  return ops::FakeQuant{node}.ranges(bounds[0], bounds[1]);
}

}  // namespace

Expected<std::shared_ptr<const UniformType>> fake_quant_type(std::span<const FakeQuantRange> ranges,
                                                             std::optional<std::int64_t> axis,
                                                             ElementType expressed) {
  UniformType type{.expressed = expressed};
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  scales.reserve(ranges.size());
  zero_points.reserve(ranges.size());
  for (const FakeQuantRange& range : ranges) {
    QUADRANT_TRY(const NudgedRange nudged, nudged_range(range));
    type.storage = nudged.storage;
    type.storage_min = nudged.storage_min;
    type.storage_max = nudged.storage_max;
    scales.push_back(static_cast<float>(nudged.scale));
    zero_points.push_back(nudged.zero_point);
  }
  Shape shape = Shape::scalar();
  if (axis) {
    type.granularity = Granularity::per_axis(*axis);
    shape = {static_cast<std::int64_t>(ranges.size())};
  }
  if (std::ranges::any_of(zero_points, [](std::int64_t zero) { return zero != 0; })) {
    type.zero_points = make_zero_points(type.storage, shape, zero_points);
  }
  type.scales = make_scales(ElementType::float32, shape, scales);
  return std::make_shared<const UniformType>(std::move(type));
}

Expected<std::shared_ptr<const UniformType>> fake_quant_type(NodeRef node) {
  QUADRANT_TRY(const std::vector<FakeQuantRange> ranges, known_ranges(node));
  // `axis` is that of either kind.
  QUADRANT_TRY(const auto axis, ops::ConstFakeQuant{node}.axis());
  if (axis && *axis < 0) {
    return fail(ErrorCode::impossible,
                "its axis is counted from the end of a rank that is not known");
  }
  const TensorType* const real = node.operand_type(0);
  const bool is_known = real != nullptr && is_float(real->element);
  return fake_quant_type(ranges, axis, is_known ? real->element : ElementType::float32);
}

}  // namespace quadrant::inline v0
