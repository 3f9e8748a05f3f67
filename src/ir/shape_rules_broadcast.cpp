// Operations whose operands are stretched to one shape.
// https://onnx.ai/onnx/repo-docs/Broadcasting.html
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

Expected<Extent> broadcast(Extent a, Extent b) {
  if (surely_equal(a, 1)) return b;
  if (surely_equal(b, 1)) return a;
  if (may_equal(a, b)) return known_one(a, b);  // with one that is known and not 1, that is it
  return invalid(fmt::format("extents {} and {} do not broadcast", to_string(a), to_string(b)));
}

Expected<std::vector<Extent>> broadcast(std::span<const Extent> a, std::span<const Extent> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<Extent> extents(a.begin(), a.end());
  for (std::size_t i = 0; i < b.size(); ++i) {
    Extent& extent = extents[a.size() - b.size() + i];
    QUADRANT_TRY(extent, broadcast(extent, b[i]));
  }
  return extents;
}

Expected<TensorType> infer_elementwise(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  const Shape a = operand_shape(node, 0);
  const Shape b = operand_shape(node, 1);
  if (!a.is_ranked() || !b.is_ranked()) return result;
  QUADRANT_TRY(auto extents, broadcast(a.extents(), b.extents()));
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_expand(NodeRef node) {
  TensorType result = moved(node);
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const auto asked, listed_extents(node, "shape", 1));
  if (!data.is_ranked() || !asked) return result;
  std::vector<Extent> wanted;
  // Some exporters write -1 for "as it is".
  for (const auto& extent : *asked) {
    wanted.push_back(extent.value_or(-1) < 0 ? Extent::open() : Extent(*extent));
  }
  QUADRANT_TRY(auto extents, broadcast(data.extents(), wanted));
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_fake_quantize(NodeRef node) {
  const ops::FakeQuantize view{node};
  if (!view.levels()) {
    return invalid("the attribute 'levels' must be there, an integer of at least 2");
  }
  TensorType result{{}, operand_shape(node, 0), nullptr};
  QUADRANT_TRY(result.element, common_element(node));
  if (result.element != ElementType::undefined && !is_float(result.element)) {
    return invalid(
        fmt::format("operands of type {}, where float is wanted", to_string(result.element)));
  }
  for (std::size_t bound = 1; bound < node.operands().size(); ++bound) {
    QUADRANT_CHECK(view.aligned(operand_shape(node, bound), result.shape));
  }
  return result;
}

}  // namespace quadrant::inline v0::detail
