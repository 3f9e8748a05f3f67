// Shapes of what is about places: of tensors that are filled, counted or searched, and of lookups
// by several indices. https://onnx.ai/onnx/operators
#include <algorithm>
#include <array>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

Expected<std::optional<KnownIntegers>> listed_extents(NodeRef node, std::string_view attribute,
                                                      std::size_t operand) {
  QUADRANT_TRY(const IntegerList list, integer_list(node, attribute, operand));
  if (list.state == IntegerList::State::known) {
    return KnownIntegers(list.values.begin(), list.values.end());
  }
  if (list.state == IntegerList::State::missing) return std::nullopt;
  if (auto known = known_integers(*node.graph, node.operand(operand))) return known;
  const Shape length = operand_shape(node, operand);
  if (length.rank() != 1 || length[0].value_or(largest_rank + 1) > largest_rank) {
    return std::nullopt;
  }
  return KnownIntegers(static_cast<std::size_t>(length[0].value()));
}

namespace {

ElementType element_at(NodeRef node, std::size_t operand) {
  const TensorType* const type = node.operand_type(operand);
  return type == nullptr || type->is_quantized() ? ElementType::undefined : type->element;
}

std::vector<TensorType> one_of_type(ElementType element, Shape shape) {
  return {{element, std::move(shape), nullptr}};
}

std::optional<std::int64_t> one_integer(NodeRef node, std::size_t operand) {
  const auto known = all_known_integers(*node.graph, node.operand(operand));
  return known && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
}

}  // namespace

Results infer_filled_tensor(NodeRef node) {
  const auto value = node.attribute_or<Constant>("value", {});
  const ElementType element = value ? value.element() : ElementType::float32;
  QUADRANT_TRY(const auto extents, listed_extents(node, "", 0));
  if (!extents) return one_of_type(element, Shape());
  std::vector<Extent> shape;
  std::ranges::transform(*extents, std::back_inserter(shape), Extent::of);
  return one_of_type(element, Shape(std::move(shape)));
}

Results infer_range_of_numbers(NodeRef node) {
  const auto start = one_integer(node, 0);
  const auto limit = one_integer(node, 1);
  const auto step = one_integer(node, 2);
  constexpr std::int64_t most = std::int64_t{1} << 40U;
  const auto is_plain = [](std::int64_t number) { return number > -most && number < most; };
  Extent count = Extent::open();
  if (start && limit && step && is_plain(*start) && is_plain(*limit) && is_plain(*step) &&
      *step != 0) {
    const std::int64_t distance = *step > 0 ? *limit - *start : *start - *limit;
    const std::int64_t size = *step > 0 ? *step : -*step;
    count = distance <= 0 ? 0 : (distance + size - 1) / size;
  }
  return one_of_type(element_at(node, 0), Shape{count});
}

Results infer_count_of_elements(NodeRef /*node*/) {
  return one_of_type(ElementType::int64, Shape::scalar());
}

Results infer_places_of_values(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  const Extent rank =
      data.is_ranked() ? Extent(std::max<std::int64_t>(data.rank(), 1)) : Extent::open();
  return one_of_type(ElementType::int64, Shape{rank, Extent::open()});
}

Results infer_boxes_that_stay(NodeRef /*node*/) {
  return one_of_type(ElementType::int64, Shape{Extent::open(), 3});
}

Results infer_one_hot(NodeRef node) {
  const Shape indices = operand_shape(node, 0);
  if (!indices.is_ranked()) return one_of_type(element_at(node, 2), Shape());
  QUADRANT_TRY(const auto stated, attribute_or<std::int64_t>(node, "axis", -1));
  const auto axis = normalize_axis(stated, indices.rank() + 1);
  if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, indices.rank() + 1));
  std::vector<Extent> extents(indices.extents().begin(), indices.extents().end());
  extents.insert(extents.begin() + *axis, Extent::of(one_integer(node, 1)));
  return one_of_type(element_at(node, 2), Shape(std::move(extents)));
}

Results infer_largest_of_windows(NodeRef node) {
  QUADRANT_TRY(TensorType pooled, infer_pooled(node));
  std::vector<TensorType> results{pooled, {ElementType::int64, pooled.shape, nullptr}};
  results.resize(std::min<std::size_t>(results.size(), node.graph->result_count(node.id)));
  return results;
}

Results infer_largest_ones(NodeRef node) {
  TensorType values{element_at(node, 0), {}, nullptr};
  const Shape data = operand_shape(node, 0);
  if (data.is_ranked()) {
    QUADRANT_TRY(const auto stated, attribute_or<std::int64_t>(node, "axis", -1));
    const auto axis = normalize_axis(stated, data.rank());
    if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, data.rank()));
    constexpr std::int64_t none = -1;
    QUADRANT_TRY(const auto attribute, attribute_or<std::int64_t>(node, "k", none));
    const std::int64_t count = one_integer(node, 1).value_or(attribute);
    std::vector<Extent> extents(data.extents().begin(), data.extents().end());
    extents[static_cast<std::size_t>(*axis)] = count < 0 ? Extent::open() : Extent(count);
    values.shape = Shape(std::move(extents));
  }
  std::vector<TensorType> results{values, {ElementType::int64, values.shape, nullptr}};
  results.resize(std::min<std::size_t>(results.size(), node.graph->result_count(node.id)));
  return results;
}

Results infer_by_elements(NodeRef node) {
  return one_of_type(element_at(node, 0), operand_shape(node, 1));
}

Results infer_by_several_indices(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  const Shape indices = operand_shape(node, 1);
  QUADRANT_TRY(const auto batch, attribute_or<std::int64_t>(node, "batch_dims", 0));
  Shape shape;
  if (data.is_ranked() && indices.rank() > 0) {
    const auto depth = indices[indices.rank() - 1].known();
    if (depth && batch >= 0 && batch <= data.rank() && *depth <= data.rank() - batch) {
      std::vector<Extent> extents(indices.extents().begin(), indices.extents().end() - 1);
      const auto rest = data.extents().subspan(static_cast<std::size_t>(batch + *depth));
      extents.insert(extents.end(), rest.begin(), rest.end());
      shape = Shape(std::move(extents));
    }
  }
  return one_of_type(element_at(node, 0), std::move(shape));
}

Results infer_unit_matrix(NodeRef node) {
  const auto stated = numbered_element_type(node.attribute_or<std::int64_t>("dtype", 0));
  const bool is_stated = stated && *stated != ElementType::undefined;
  return one_of_type(is_stated ? *stated : element_at(node, 0), operand_shape(node, 0));
}

Results infer_like_another(NodeRef node) {
  return one_of_type(element_at(node, 1), operand_shape(node, 0));
}

// Images at the places of a grid `[N, H, W, 2]`.
Results infer_sampled(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  const Shape grid = operand_shape(node, 1);
  if (data.rank() < 3 || grid.rank() != data.rank())
    return one_of_type(element_at(node, 0), Shape());
  std::vector<Extent> extents{data[0], data[1]};
  for (std::int64_t axis = 1; axis + 1 < grid.rank(); ++axis) extents.push_back(grid[axis]);
  return one_of_type(element_at(node, 0), Shape(std::move(extents)));
}

// Real and imaginary parts are the last axis.
Results infer_transformed(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  if (data.rank() < 2) return one_of_type(element_at(node, 0), Shape());
  QUADRANT_TRY(const auto attribute, attribute_or<std::int64_t>(node, "axis", -2));
  const auto listed = one_integer(node, 2);
  const bool is_known = node.operand(2).is_absent() || listed;
  const auto axis = normalize_axis(listed.value_or(attribute), data.rank());
  if (!axis) return invalid(fmt::format("axis {} of {} dimensions", attribute, data.rank()));
  std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  extents.back() = 2;
  Extent& extent = extents[static_cast<std::size_t>(*axis)];
  if (!node.operand(1).is_absent()) extent = Extent::of(one_integer(node, 1));
  const bool is_half = node.attribute_or<std::int64_t>("onesided", 0) != 0;
  if (is_half) extent = extent.transformed([](std::int64_t count) { return count / 2 + 1; });
  // The inverse of half of a spectrum is real, and of another length.
  const bool is_inverse = node.attribute_or<std::int64_t>("inverse", 0) != 0;
  if (!is_known || (is_half && is_inverse)) extents.assign(extents.size(), Extent::open());
  return one_of_type(element_at(node, 0), Shape(std::move(extents)));
}

// Boxes of images [N, C, H, W].
Results infer_pooled_boxes(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  const Shape boxes = operand_shape(node, 1);
  const Extent count = boxes.rank() == 2 ? boxes[0] : Extent::open();
  const Extent channels = data.rank() == 4 ? data[1] : Extent::open();
  return one_of_type(element_at(node, 0),
                     Shape{count, channels, node.attribute_or<std::int64_t>("output_height", 1),
                           node.attribute_or<std::int64_t>("output_width", 1)});
}

}  // namespace quadrant::inline v0::detail
