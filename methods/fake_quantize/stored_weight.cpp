#include "fake_quantize/stored_weight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "fake_quantize/coded_constants.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

NodeRef maker_of(NodeRef node, std::size_t operand) {
  return {node.graph, node.operand(operand).node};
}

bool is_code_type(ElementType element) {
  return element == ElementType::int8 || element == ElementType::uint8 ||
         element == ElementType::int4 || element == ElementType::uint4;
}

// Which elements of `shape` share one of `parameters`, which broadcast to it; empty where that is
// no granularity.
std::optional<Granularity> shared_by(const Shape& parameters, const Shape& shape) {
  if (parameters.rank() > shape.rank()) return std::nullopt;  // the product has more axes
  if (parameters.element_count() == 1) return Granularity::per_tensor();
  const std::int64_t lead = shape.rank() - parameters.rank();
  std::vector<std::int64_t> whole;  // axes along which parameters are as many as elements
  std::vector<std::int64_t> single;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const Extent extent = axis < lead ? Extent(1) : parameters[axis - lead];
    const bool is_single = surely_equal(extent, 1);
    if (!is_single && !surely_equal(extent, shape[axis])) return std::nullopt;
    if (!surely_equal(shape[axis], 1)) (is_single ? single : whole).push_back(axis);
  }
  if (whole.size() == 1) return Granularity::per_axis(whole.front());
  // All but one axis: blocks of the whole of it.
  if (single.size() != 1) return std::nullopt;
  return Granularity::per_block(single.front(), shape[single.front()].value());
}

// The constants that such a weight is made of.
struct Parts {
  NodeId codes;
  NodeId scales;
  Value zero_points;  // absent: there are none
};

// `side`: the operand of the multiplication that has the codes.
std::optional<Parts> find_parts(NodeRef node, std::size_t side) {
  if (node.operand(side).is_absent() || node.operand(1 - side).is_absent()) return std::nullopt;
  const NodeRef shifted = maker_of(node, side);
  const bool has_zero_points = shifted.kind() == ops::Sub::kind;
  const Value stored = has_zero_points ? shifted.operand(0) : node.operand(side);
  const bool is_cast = !stored.is_absent() && node.graph->kind(stored.node) == ops::Cast::kind;
  if (!is_cast) return std::nullopt;
  const NodeId codes = constant_behind_cast(*node.graph, stored);
  const NodeId scales = constant_behind_cast(*node.graph, node.operand(1 - side));
  if (!codes.is_valid() || !scales.is_valid()) return std::nullopt;
  const bool are_codes = is_code_type(node.graph->constant(codes)->element()) &&
                         is_float(node.graph->constant(scales)->element());
  if (!are_codes) return std::nullopt;
  return Parts{codes, scales, has_zero_points ? shifted.operand(1) : Value{}};
}

Expected<std::vector<float>> read_steps(const Constant& scales) {
  QUADRANT_TRY(const auto numbers, read_reals(scales));
  std::vector<float> steps;
  for (const double number : numbers) {
    const auto step = static_cast<float>(number);
    if (step == 0 || !std::isfinite(step)) {
      return fail(ErrorCode::impossible, fmt::format("a scale of {}", step));
    }
    steps.push_back(step);
  }
  return steps;
}

Expected<std::vector<std::int64_t>> read_shifts(const Constant& points, const IntegerRange& range,
                                                double tolerance) {
  std::vector<std::int64_t> shifts;
  if (is_float(points.element())) {
    QUADRANT_TRY(const auto reals, read_reals(points));
    for (const double real : reals) {
      const double nearest = std::nearbyint(real);
      const auto levels = static_cast<double>(range.max - range.min + 1);
      const bool is_code =
          std::abs(real - nearest) * 256 <= tolerance * levels && std::abs(nearest) <= 255;
      if (!is_code) {
        return fail(ErrorCode::impossible, fmt::format("a zero point of {} is no code", real));
      }
      shifts.push_back(static_cast<std::int64_t>(nearest));
    }
  } else {
    QUADRANT_TRY(shifts, read_integers(points, points.element_count()));
  }
  for (const std::int64_t shift : shifts) {
    if (shift < range.min || shift > range.max) {
      return fail(ErrorCode::impossible, fmt::format("a zero point of {} is no code", shift));
    }
  }
  return shifts;
}

}  // namespace

Expected<std::optional<StoredWeight>> read_stored_weight(NodeRef node, double tolerance) {
  if (node.kind() != ops::Multiply::kind) return std::nullopt;
  auto parts = find_parts(node, 0);
  if (!parts) parts = find_parts(node, 1);
  if (!parts) return std::nullopt;
  const Constant& codes = *node.graph->constant(parts->codes);
  const Constant& factors = *node.graph->constant(parts->scales);
  const auto granularity = shared_by(factors.shape(), codes.shape());
  if (!granularity) return fail(ErrorCode::impossible, "its scales are along several axes");
  QUADRANT_TRY(const std::vector<float> steps, read_steps(factors));
  auto type = std::make_shared<UniformType>();
  const IntegerRange range = integer_range(codes.element()).value_or(IntegerRange{});
  type->storage = codes.element();
  type->expressed = node.type().element;
  type->granularity = *granularity;
  type->storage_min = range.min;
  type->storage_max = range.max;
  const Shape layout = parameter_shape(codes.shape(), *granularity);
  type->scales = make_scales(ElementType::float32, layout, steps);
  if (!parts->zero_points.is_absent()) {
    const NodeId zeros = constant_behind_cast(*node.graph, parts->zero_points);
    if (!zeros.is_valid()) return fail(ErrorCode::impossible, "its zero points are computed");
    const Constant& points = *node.graph->constant(zeros);
    QUADRANT_TRY(std::vector<std::int64_t> shifts, read_shifts(points, range, tolerance));
    if (shifts.size() == 1) {
      shifts.resize(steps.size(), shifts.front());
    } else if (shared_by(points.shape(), codes.shape()) != granularity) {
      return fail(ErrorCode::impossible, "its zero points are not as its scales");
    }
    type->zero_points = make_zero_points(type->storage, layout, shifts);
  }
  return StoredWeight{parts->codes, std::move(type)};
}

}  // namespace quadrant::inline v0::low_precision
