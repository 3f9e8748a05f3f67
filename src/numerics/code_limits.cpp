#include "numerics/code_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// The numbers that the first and the last code stand for, by channel, in a shape that broadcasts.
struct CodeLimits {
  std::vector<double> low;
  std::vector<double> high;
  Shape shape;
};

Expected<Shape> shape_of_limits(const Granularity& granularity, const Shape& tensor,
                                std::int64_t count) {
  if (granularity.kind == Granularity::Kind::tensor) return Shape::scalar();
  const auto axis =
      tensor.is_ranked() ? normalize_axis(granularity.axis, tensor.rank()) : std::nullopt;
  if (granularity.kind == Granularity::Kind::block || !axis) {
    return fail(ErrorCode::impossible,
                fmt::format("float values are not limited to part of the codes ({}, [{}])",
                            granularity.print(), to_string(tensor)));
  }
  std::vector<std::int64_t> extents(static_cast<std::size_t>(tensor.rank()), 1);
  extents[static_cast<std::size_t>(*axis)] = count;
  return Shape(extents);
}

Expected<CodeLimits> limits_of(const UniformType& type, const Shape& tensor) {
  CodeLimits limits;
  QUADRANT_TRY(const std::vector<double> scales, read_exact_scales(type.scales));
  QUADRANT_TRY(const std::vector<std::int64_t> zeros, read_zero_points(type));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double scale = scales[i];
    const double first = scale * static_cast<double>(type.storage_min - zeros[i]);
    const double last = scale * static_cast<double>(type.storage_max - zeros[i]);
    limits.low.push_back(std::min(first, last));
    limits.high.push_back(std::max(first, last));
  }
  QUADRANT_TRY(limits.shape,
               shape_of_limits(type.granularity, tensor, static_cast<std::int64_t>(scales.size())));
  return limits;
}

Value add_limit(Graph& graph, std::string_view kind, Value real, const std::vector<double>& bound,
                const Shape& shape) {
  const std::string name(graph.value_name(real));
  const TensorType type = graph.type(real);
  const Value constant =
      graph.add_constant(name + "_limit", rounded_constant(ElementType::float32, shape, bound));
  return {graph.add({.kind = std::string(kind),
                     .operands = {real, constant},
                     .results = {{name + "_limited", type}}})};
}

}  // namespace

bool is_part_of_storage(const UniformType& type) noexcept {
  const auto whole = integer_range(type.storage);
  return whole && (type.storage_min > whole->min || type.storage_max < whole->max);
}

Expected<Value> limited_to_codes(Graph& graph, Value real, const UniformType& type) {
  QUADRANT_TRY(const CodeLimits limits, limits_of(type, graph.type(real).shape));
  const Value raised = add_limit(graph, ops::Max::kind, real, limits.low, limits.shape);
  return add_limit(graph, ops::Min::kind, raised, limits.high, limits.shape);
}

}  // namespace quadrant::inline v0
