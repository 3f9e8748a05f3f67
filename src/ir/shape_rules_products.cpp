// Operations that multiply and sum up.
// https://onnx.ai/onnx/operators/onnx__MatMul.html, ..._Gemm.html, ..._Einsum.html
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/shape_rules.hpp"

namespace quadrant::inline v0::detail {
namespace {

Expected<void> check_rank(const Shape& shape, std::int64_t rank) {
  if (!shape.is_ranked() || shape.rank() == rank) return {};
  return invalid(
      fmt::format("an operand of {} dimensions where {} are needed", shape.rank(), rank));
}

Expected<void> check_inner(Extent a, Extent b) {
  if (may_equal(a, b)) return {};
  return invalid(fmt::format("inner dimensions {} and {} differ", to_string(a), to_string(b)));
}

Extent extent(const Shape& shape, std::int64_t axis) {
  return shape.is_ranked() ? shape[axis] : Extent::open();
}

// What is added to a product broadcasts to it, not the other way round.
Expected<void> check_addend(const Shape& c, const Shape& product) {
  bool fits = c.rank() <= product.rank();
  for (std::int64_t i = 1; fits && i <= c.rank(); ++i) {
    const Extent have = c[c.rank() - i];
    fits = surely_equal(have, 1) || may_equal(have, product[product.rank() - i]);
  }
  if (fits) return {};
  return invalid(
      fmt::format("C of shape [{}] does not broadcast to [{}]", to_string(c), to_string(product)));
}

Expected<Shape> matrix_product(const Shape& a, bool trans_a, const Shape& b, bool trans_b) {
  QUADRANT_CHECK(check_rank(a, 2));
  QUADRANT_CHECK(check_rank(b, 2));
  QUADRANT_CHECK(check_inner(extent(a, trans_a ? 0 : 1), extent(b, trans_b ? 1 : 0)));
  return Shape{extent(a, trans_a ? 1 : 0), extent(b, trans_b ? 0 : 1)};
}

Expected<Shape> batch_product(const Shape& a, const Shape& b) {
  QUADRANT_CHECK(check_rank(a, 3));
  QUADRANT_CHECK(check_rank(b, 3));
  QUADRANT_CHECK(check_inner(extent(a, 2), extent(b, 1)));
  const Extent batch_a = extent(a, 0);
  const Extent batch_b = extent(b, 0);
  if (!may_equal(batch_a, batch_b)) {
    return invalid(fmt::format("batches of {} and {}", to_string(batch_a), to_string(batch_b)));
  }
  return Shape{known_one(batch_a, batch_b), extent(a, 1), extent(b, 2)};
}

}  // namespace

Expected<Shape> matmul_shape(const Shape& a, const Shape& b) {
  for (const Shape& shape : {a, b}) {
    if (shape.is_ranked() && shape.rank() == 0) return invalid("a scalar in a matmul");
  }
  if (!a.is_ranked() || !b.is_ranked()) return Shape();
  const Extent inner_a = a[a.rank() - 1];
  const Extent inner_b = b[std::max<std::int64_t>(b.rank() - 2, 0)];
  if (!may_equal(inner_a, inner_b)) {
    return invalid(fmt::format("inner dimensions {} and {} differ ([{}] times [{}])",
                               to_string(inner_a), to_string(inner_b), to_string(a), to_string(b)));
  }
  const auto leading = [](const Shape& shape) {
    return shape.extents().first(static_cast<std::size_t>(std::max<std::int64_t>(shape.rank(), 2)) -
                                 2);
  };
  QUADRANT_TRY(auto extents, broadcast(leading(a), leading(b)));
  if (a.rank() > 1) extents.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) extents.push_back(b[b.rank() - 1]);
  return Shape(std::move(extents));
}

Expected<Shape> gemm_shape(NodeRef node, const Shape& a, const Shape& b) {
  QUADRANT_TRY(const std::int64_t trans_a, attribute_or<std::int64_t>(node, "transA", 0));
  QUADRANT_TRY(const std::int64_t trans_b, attribute_or<std::int64_t>(node, "transB", 0));
  return matrix_product(a, trans_a != 0, b, trans_b != 0);
}

Expected<TensorType> infer_matmul(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(result.shape, matmul_shape(operand_shape(node, 0), operand_shape(node, 1)));
  return result;
}

Expected<TensorType> infer_gemm(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(result.shape, gemm_shape(node, operand_shape(node, 0), operand_shape(node, 1)));
  QUADRANT_CHECK(check_addend(operand_shape(node, 2), result.shape));
  return result;
}

Expected<TensorType> infer_addmm(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(result.shape,
               matrix_product(operand_shape(node, 1), false, operand_shape(node, 2), false));
  QUADRANT_CHECK(check_addend(operand_shape(node, 0), result.shape));
  return result;
}

Expected<TensorType> infer_batch_matmul(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(result.shape, batch_product(operand_shape(node, 0), operand_shape(node, 1)));
  return result;
}

Expected<TensorType> infer_baddbmm(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(result.shape, batch_product(operand_shape(node, 1), operand_shape(node, 2)));
  QUADRANT_CHECK(check_addend(operand_shape(node, 0), result.shape));
  return result;
}

Expected<TensorType> infer_linear(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  const Shape x = operand_shape(node, 0);
  const Shape w = operand_shape(node, 1);
  const Shape bias = operand_shape(node, 2);
  QUADRANT_CHECK(check_rank(w, 2));
  QUADRANT_CHECK(check_rank(bias, 1));
  if (!may_equal(extent(w, 0), extent(bias, 0))) {
    return invalid(fmt::format("a bias of {} for {} outputs", to_string(bias[0]), to_string(w[0])));
  }
  if (!x.is_ranked()) return result;
  if (x.rank() == 0) return invalid("a scalar in a linear");
  QUADRANT_CHECK(check_inner(x[x.rank() - 1], extent(w, 1)));
  std::vector<Extent> extents(x.extents().begin(), x.extents().end());
  extents.back() = known_one(extent(w, 0), extent(bias, 0));
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_einsum(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(const auto equation, einsum_equation(node));
  if (!equation) return result;
  std::vector<Extent> extents(128, 1);  // of each label
  for (std::size_t operand = 0; operand < equation->operands.size(); ++operand) {
    const std::string& labels = equation->operands[operand];
    const Shape shape = operand_shape(node, operand);
    QUADRANT_CHECK(check_rank(shape, static_cast<std::int64_t>(labels.size())));
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      Extent& known = extents[static_cast<unsigned char>(labels[axis])];
      QUADRANT_TRY(known, broadcast(known, extent(shape, static_cast<std::int64_t>(axis))));
    }
  }
  std::vector<Extent> kept;
  kept.reserve(equation->result.size());
  for (const char label : equation->result) {
    kept.push_back(extents[static_cast<unsigned char>(label)]);
  }
  result.shape = Shape(std::move(kept));
  return result;
}

}  // namespace quadrant::inline v0::detail
