#include "runtime/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {

Expected<std::vector<std::int64_t>> integers_of(const Tensor& tensor) {
  if (tensor.element() == ElementType::int64) {
    const auto elements = tensor.as<std::int64_t>();
    return std::vector<std::int64_t>(elements.begin(), elements.end());
  }
  if (tensor.element() == ElementType::int32) {
    const auto elements = tensor.as<std::int32_t>();
    return std::vector<std::int64_t>(elements.begin(), elements.end());
  }
  return KernelCall::refuse(fmt::format("a list of integers of type {}, where i64 or i32 is wanted",
                                        to_string(tensor.element())));
}

Expected<std::vector<double>> reals_of(const Tensor& tensor) {
  if (tensor.element() == ElementType::float64) {
    const auto elements = tensor.as<double>();
    return std::vector<double>(elements.begin(), elements.end());
  }
  if (!is_float(tensor.element())) {
    return KernelCall::refuse(
        fmt::format("a list of type {}, where float is wanted", to_string(tensor.element())));
  }
  std::vector<float> elements(static_cast<std::size_t>(tensor.element_count()));
  widen_to_float(tensor.element(), tensor.bytes(), elements);
  return std::vector<double>(elements.begin(), elements.end());
}

Expected<std::optional<std::int64_t>> integer_parameter(const KernelCall& call, std::size_t operand,
                                                        std::string_view attribute) {
  if (call.has(operand)) {
    QUADRANT_TRY(const auto integers, integers_of(call.operand(operand)));
    if (integers.size() == 1) return integers[0];
    return KernelCall::refuse(
        fmt::format("operand {} holds {} integers, where one is wanted", operand, integers.size()));
  }
  const Attribute* found = call.node().graph->attribute(call.node().id, attribute);
  const auto* integer = found != nullptr ? std::get_if<std::int64_t>(found) : nullptr;
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> integers_attribute(const KernelCall& call,
                                                            std::string_view name) {
  const Attribute* found = call.node().graph->attribute(call.node().id, name);
  const auto* list = found != nullptr ? std::get_if<std::vector<std::int64_t>>(found) : nullptr;
  return list != nullptr ? std::optional(*list) : std::nullopt;
}

Expected<std::optional<std::vector<std::int64_t>>> integers_parameter(const KernelCall& call,
                                                                      std::size_t operand,
                                                                      std::string_view attribute) {
  if (!call.has(operand)) return integers_attribute(call, attribute);
  return integers_of(call.operand(operand));
}

Expected<std::int64_t> axis_below(std::int64_t axis, std::int64_t rank) {
  if (const auto index = normalize_axis(axis, rank)) return *index;
  return KernelCall::refuse(fmt::format("axis {} of a tensor that has {} axes", axis, rank));
}

Expected<std::int64_t> axis_attribute(const KernelCall& call, std::int64_t fallback,
                                      std::int64_t rank) {
  return axis_below(call.attribute_or<std::int64_t>("axis", fallback), rank);
}

Expected<std::vector<std::int64_t>> axes_below(std::vector<std::int64_t> axes, std::int64_t rank) {
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  for (std::int64_t& axis : axes) {
    QUADRANT_TRY(axis, axis_below(axis, rank));
    if (seen[static_cast<std::size_t>(axis)]) {
      return KernelCall::refuse(fmt::format("axis {} is listed twice", axis));
    }
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return axes;
}

std::vector<std::int64_t> all_axes(std::int64_t rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

Expected<void> require_operands(const KernelCall& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!call.has(i)) return KernelCall::refuse(fmt::format("operand {} is absent", i));
  }
  return {};
}

std::vector<std::int64_t> extents_between(const Shape& shape, std::int64_t first,
                                          std::int64_t last) {
  return {shape.known_extents().begin() + first, shape.known_extents().begin() + last};
}

std::int64_t count_between(const Shape& shape, std::int64_t first, std::int64_t last) {
  std::int64_t count = 1;
  for (std::int64_t axis = first; axis < last; ++axis) {
    // Where another axis has no elements, the product of these may be of any size.
    if (__builtin_mul_overflow(count, shape[axis].value(), &count)) return 0;
  }
  return count;
}

}  // namespace quadrant::inline v0
