// Operations that move, leave out and join elements.
// https://onnx.ai/onnx/operators/onnx__Transpose.html, ..._Slice.html, ..._Split.html,
// ..._Concat.html, ..._Gather.html
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

// The attribute `axis` of an operation on `rank` dimensions.
Expected<std::int64_t> axis_below(NodeRef node, std::int64_t rank) {
  QUADRANT_TRY(const std::int64_t stated, attribute_or<std::int64_t>(node, "axis", 0));
  const auto axis = normalize_axis(stated, rank);
  if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, rank));
  return *axis;
}

// The one quantization of all operands; null where they differ or are not quantized.
std::shared_ptr<const UniformType> common_quantization(NodeRef node) {
  const TensorType& first = *node.operand_type(0);
  if (!has_one_scale(first)) return nullptr;
  for (std::size_t operand = 1; operand < node.operands().size(); ++operand) {
    if (node.operand_type(operand)->quantization != first.quantization) return nullptr;
  }
  return first.uniform();
}

}  // namespace

Expected<Extent> concatenated(Extent a, Extent b) {
  if (!a.is_known() || !b.is_known()) return Extent::open();
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.value(), b.value(), &sum)) {
    return invalid("a concat of more elements than 63 bits count");
  }
  return sum;
}

Expected<TensorType> infer_transpose(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  QUADRANT_TRY(auto perm, attribute_or(node, "perm", std::vector<std::int64_t>{}));
  const bool stated = node.graph->attribute(node.id, "perm") != nullptr;
  const Shape shape = operand_shape(node, 0);
  TensorType result;
  if (!data.is_quantized()) result.element = data.element;
  if (!shape.is_ranked() && !stated) return result;

  const std::int64_t rank =
      shape.is_ranked() ? shape.rank() : static_cast<std::int64_t>(perm.size());
  if (!stated) {
    for (std::int64_t axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  if (rank > largest_rank) return result;
  if (std::cmp_not_equal(perm.size(), rank)) {
    return invalid(
        fmt::format("attribute 'perm' has {} axes for {} dimensions", perm.size(), rank));
  }
  std::vector<Extent> extents;
  std::vector<std::int64_t> moved_to(perm.size(), -1);
  for (const std::int64_t stated_axis : perm) {
    const auto axis = normalize_axis(stated_axis, rank);
    if (!axis || moved_to[static_cast<std::size_t>(*axis)] >= 0) {
      return invalid("attribute 'perm' is no permutation");
    }
    moved_to[static_cast<std::size_t>(*axis)] = static_cast<std::int64_t>(extents.size());
    extents.push_back(shape.is_ranked() ? shape[*axis] : Extent::open());
  }
  result.shape = Shape(std::move(extents));

  // Scales along one axis move with it. Those of blocks would have to be transposed themselves.
  if (data.is_quantized() && data.uniform()->granularity.kind != Granularity::Kind::block) {
    result.element = data.element;
    result.quantization = data.quantization;
    const Granularity& granularity = data.uniform()->granularity;
    if (granularity.kind == Granularity::Kind::axis) {
      if (granularity.axis < 0 || granularity.axis >= rank) {
        return invalid(
            fmt::format("quantized along axis {} of {} dimensions", granularity.axis, rank));
      }
      auto moved = std::make_shared<UniformType>(*data.uniform());
      moved->granularity.axis = moved_to[static_cast<std::size_t>(granularity.axis)];
      result.quantization = std::move(moved);
    }
  }
  return result;
}

Expected<TensorType> infer_slice(NodeRef node) {
  TensorType result = moved(node);
  const Shape data = operand_shape(node, 0);
  if (!data.is_ranked()) return result;
  QUADRANT_TRY(const auto ranges, slice_ranges(node, data));
  std::vector<Extent> extents;
  extents.reserve(ranges.size());
  for (const auto& range : ranges) {
    extents.push_back(range ? Extent(range->count) : Extent::open());
  }
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<std::vector<TensorType>> infer_split(NodeRef node) {
  const TensorType part = moved(node);
  const Shape data = operand_shape(node, 0);
  std::vector<TensorType> results(node.graph->result_count(node.id), part);
  if (!data.is_ranked()) return results;
  QUADRANT_TRY(const std::int64_t axis, axis_below(node, data.rank()));
  QUADRANT_TRY(const auto sizes, split_sizes(node, data[axis]));
  std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  for (std::size_t i = 0; i < results.size(); ++i) {
    extents[static_cast<std::size_t>(axis)] = sizes[i];
    results[i].shape = Shape(extents);
  }
  return results;
}

Expected<TensorType> infer_concat(NodeRef node) {
  if (!node.graph->attribute(node.id, "axis")) return invalid("a concat without an axis");
  for (std::size_t operand = 0; operand < node.operands().size(); ++operand) {
    if (node.operand(operand).is_absent()) {
      return invalid(fmt::format("operand {} of a concat is missing", operand));
    }
  }
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  auto quantization = common_quantization(node);
  // What the result says itself holds: operands that differ may join under a type of its own, and
  // those that happen to be alike.
  if (quantization && node.type().is_quantized()) quantization = node.type().uniform();
  if (quantization) {
    result.element = quantization->storage;
    result.quantization = std::move(quantization);
  }
  std::vector<Extent> extents;
  bool is_ranked = false;
  std::size_t axis = 0;
  Extent sum = 0;  // along the axis
  for (std::size_t operand = 0; operand < node.operands().size(); ++operand) {
    const Shape shape = operand_shape(node, operand);
    if (!shape.is_ranked()) {
      sum = Extent::open();
      continue;
    }
    if (!std::exchange(is_ranked, true)) {
      QUADRANT_TRY(const std::int64_t stated, axis_below(node, shape.rank()));
      axis = static_cast<std::size_t>(stated);
      extents.assign(shape.extents().begin(), shape.extents().end());
    }
    if (std::cmp_not_equal(shape.rank(), extents.size())) {
      return invalid(fmt::format("a concat of {} and {} dimensions", extents.size(), shape.rank()));
    }
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const Extent extent = shape.extents()[i];
      if (i == axis) {
        QUADRANT_TRY(sum, concatenated(sum, extent));
      } else if (!may_equal(extents[i], extent)) {
        return invalid(fmt::format("operand {} of a concat has {} elements along axis {}, not {}",
                                   operand, to_string(extent), i, to_string(extents[i])));
      } else {
        extents[i] = known_one(extents[i], extent);
      }
    }
  }
  if (!is_ranked) return result;
  extents[axis] = sum;
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_gather(NodeRef node) {
  TensorType result = moved(node);
  const Shape data = operand_shape(node, 0);
  const Shape indices = operand_shape(node, 1);
  if (!data.is_ranked()) return result;
  QUADRANT_TRY(const std::int64_t axis, axis_below(node, data.rank()));
  if (!indices.is_ranked() || data.rank() + indices.rank() > largest_rank) return result;
  std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  const auto place = extents.erase(extents.begin() + axis);
  extents.insert(place, indices.extents().begin(), indices.extents().end());
  result.shape = Shape(std::move(extents));
  return result;
}

}  // namespace quadrant::inline v0::detail
