// Tensors in another shape or order: the steps that rules make of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "io/mlir/failure.hpp"
#include "io/mlir/lower.hpp"
#include "io/mlir/text.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

/// For each axis of `coarse`, how many axes of `fine` in a row it is made of; empty where it is
/// not. Axes of extent 1 at the end of `fine` belong to the last.
std::optional<std::vector<std::int64_t>> grouping(const Shape& fine, const Shape& coarse) {
  if (fine.rank() < coarse.rank()) return std::nullopt;
  std::vector<std::int64_t> counts;
  std::int64_t at = 0;
  for (std::int64_t axis = 0; axis < coarse.rank(); ++axis) {
    if (at == fine.rank()) return std::nullopt;
    const std::int64_t first = at;
    const std::int64_t whole = coarse[axis].value();
    std::int64_t extent = fine[at++].value();
    while (extent != whole) {
      if (at == fine.rank() || extent > whole || extent == 0) return std::nullopt;
      extent *= fine[at++].value();
    }
    counts.push_back(at - first);
  }
  for (; at < fine.rank(); ++at) {
    if (!surely_equal(fine[at], 1)) return std::nullopt;
    if (!counts.empty()) ++counts.back();
  }
  return counts;
}

/// `[[0, 1], [2]]`
std::string grouping_text(const std::vector<std::int64_t>& counts) {
  std::string text;
  std::int64_t axis = 0;
  for (const std::int64_t count : counts) {
    std::string group;
    for (std::int64_t i = 0; i < count; ++i) {
      group += fmt::format("{}{}", i == 0 ? "" : ", ", axis++);
    }
    text += fmt::format("{}[{}]", text.empty() ? "" : ", ", group);
  }
  return fmt::format("reassociation = [{}]", text);
}

std::string slice_text(std::string_view segments, std::span<const std::int64_t> offsets,
                       const Shape& shape, std::span<const std::int64_t> steps) {
  return fmt::format(
      "operandSegmentSizes = array<i32: {}>, static_offsets = {}, static_sizes = {}, "
      "static_strides = {}",
      segments, array_text(offsets), array_text(shape.known_extents()), array_text(steps));
}

}  // namespace

Term LoweredNode::reshaped(const Term& term, const Shape& shape) {
  const Shape& from = term.type.shape;
  if (from == shape) return term;
  if (from.element_count() != shape.element_count()) {
    invalid(fmt::format("{} elements in a shape {}", to_string(from), to_string(shape)));
  }
  const TensorType type{term.type.element, shape, nullptr};
  if (const auto groups = grouping(from, shape)) {
    return make("tensor.collapse_shape", std::array{term}, type,
                {.properties = grouping_text(*groups)});
  }
  if (const auto groups = grouping(shape, from)) {
    return make("tensor.expand_shape", std::array{term}, type,
                {.properties = fmt::format("{}, static_output_shape = {}", grouping_text(*groups),
                                           array_text(shape.known_extents()))});
  }
  const auto count = shape.element_count();
  if (!count || *count == 0) return empty(term.type.element, shape);
  return reshaped(reshaped(term, Shape{*count}), shape);
}

Term LoweredNode::transposed(const Term& term, std::span<const std::int64_t> perm) {
  std::vector<Extent> extents;
  extents.reserve(perm.size());
  for (const std::int64_t axis : perm) extents.push_back(term.type.shape[axis]);
  const ElementType element = term.type.element;
  const Term into = empty(element, Shape(std::move(extents)));
  return make("linalg.transpose", std::array{term, into}, into.type,
              {.properties = fmt::format("permutation = {}", array_text(perm)),
               .region = first_of(element, element)});
}

Term LoweredNode::slice(const Term& term, std::span<const std::int64_t> offsets, const Shape& shape,
                        std::span<const std::int64_t> steps) {
  if (term.type.shape == shape) return term;
  // Version 22 has no place for one behind the last element.
  if (shape.element_count() == 0) return empty(term.type.element, shape);
  return make("tensor.extract_slice", std::array{term}, {term.type.element, shape, nullptr},
              {.properties = slice_text("1, 0, 0, 0", offsets, shape, steps)});
}

Term LoweredNode::inserted(const Term& part, const Term& into,
                           std::span<const std::int64_t> offsets) {
  if (part.type.shape == into.type.shape) return part;
  if (part.type.shape.element_count() == 0) return into;
  const std::vector<std::int64_t> steps(offsets.size(), 1);
  return make("tensor.insert_slice", std::array{part, into}, into.type,
              {.properties = slice_text("1, 1, 0, 0, 0", offsets, part.type.shape, steps)});
}

Term LoweredNode::padded(const Term& term, std::span<const std::int64_t> before,
                         std::span<const std::int64_t> after, double value) {
  std::vector<std::int64_t> extents;
  extents.reserve(before.size());
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    extents.push_back(before[axis] + term.type.shape.known_extents()[axis] + after[axis]);
  }
  Shape shape(std::move(extents));
  if (shape == term.type.shape) return term;
  return inserted(term, filled(term.type.element, shape, value), before);
}

}  // namespace quadrant::inline v0::mlir_ir
