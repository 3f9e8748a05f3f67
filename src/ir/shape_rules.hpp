// What the rules of shape inference share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::detail {

/// Tensors of more dimensions exist in hostile files only. Not following them keeps inference
/// linear.
inline constexpr std::int64_t largest_rank = 64;

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

inline Shape operand_shape(NodeRef node, std::size_t operand) {
  const TensorType* type = node.operand_type(operand);
  return type && type->shape.rank() <= largest_rank ? type->shape : Shape();
}

/// The element type that all operands share; unknown where one is, or is quantized: what an
/// operation makes of codes is stated on its result.
inline Expected<ElementType> common_element(NodeRef node) {
  ElementType common = ElementType::undefined;
  bool quantized = false;
  for (std::size_t operand = 0; operand < node.operands().size(); ++operand) {
    const TensorType* type = node.operand_type(operand);
    if (!type || type->element == ElementType::undefined) continue;
    if (type->is_quantized()) {
      quantized = true;
    } else if (common == ElementType::undefined) {
      common = type->element;
    } else if (common != type->element) {
      return invalid(
          fmt::format("operands of types {} and {}", to_string(common), to_string(type->element)));
    }
  }
  return quantized ? ElementType::undefined : common;
}

template <class T>
Expected<T> attribute_or(NodeRef node, std::string_view name, T fallback) {
  const Attribute* found = node.graph->attribute(node.id, name);
  if (!found) return fallback;
  const T* typed = std::get_if<T>(found);
  if (!typed) return invalid(fmt::format("attribute '{}' has the wrong type", name));
  return *typed;
}

/// `count` integers of at least `smallest`. An empty list is as good as none.
inline Expected<std::vector<std::int64_t>> integers(NodeRef node, std::string_view name,
                                                    std::size_t count, std::int64_t fallback,
                                                    std::int64_t smallest) {
  QUADRANT_TRY(auto values, attribute_or(node, name, std::vector<std::int64_t>{}));
  if (values.empty()) return std::vector<std::int64_t>(count, fallback);
  if (values.size() != count) {
    return invalid(fmt::format("attribute '{}' has {} values where {} are needed", name,
                               values.size(), count));
  }
  for (const std::int64_t value : values) {
    if (value < smallest) return invalid(fmt::format("attribute '{}' holds {}", name, value));
  }
  return values;
}

/// Whether two extents can be the same.
inline bool compatible(std::int64_t a, std::int64_t b) {
  return a == b || a == Shape::dynamic || b == Shape::dynamic;
}

/// The rule for ops::Conv, in a file of its own.
[[nodiscard]] Expected<TensorType> infer_conv(NodeRef node);

}  // namespace quadrant::inline v0::detail
