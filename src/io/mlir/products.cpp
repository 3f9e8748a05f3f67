// Products of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

/// [M, K] by [K, N].
Term matrix_product(LoweredNode& node, const Term& a, const Term& b) {
  const Term into = node.filled(a.type.element, Shape{a.type.shape[0], b.type.shape[1]}, 0);
  const std::array maps{map_of_loops(3, std::array<std::int64_t, 2>{0, 2}),
                        map_of_loops(3, std::array<std::int64_t, 2>{2, 1}),
                        map_of_loops(3, std::array<std::int64_t, 2>{0, 1})};
  return node.sum_of_products("linalg.matmul", a, b, into, {}, maps);
}

/// [B, M, K] by [B, K, N].
Term batch_product(LoweredNode& node, const Term& a, const Term& b) {
  const Term into =
      node.filled(a.type.element, Shape{a.type.shape[0], a.type.shape[1], b.type.shape[2]}, 0);
  const std::array maps{map_of_loops(4, std::array<std::int64_t, 3>{0, 1, 3}),
                        map_of_loops(4, std::array<std::int64_t, 3>{0, 3, 2}),
                        map_of_loops(4, std::array<std::int64_t, 3>{0, 1, 2})};
  return node.sum_of_products("linalg.batch_matmul", a, b, into, {}, maps);
}

/// `shape` without its last two extents, and these.
Shape with_batch(std::span<const std::int64_t> batch, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> extents(batch.begin(), batch.end());
  extents.push_back(rows);
  extents.push_back(columns);
  return Shape(extents);
}

/// Broadcast leading axes, as numpy.matmul has them.
Term product(LoweredNode& node, Term a, Term b, const Shape& result) {
  if (a.type.shape.rank() == 0 || b.type.shape.rank() == 0) invalid("a product of a number");
  if (a.type.shape.rank() == 1) a = node.reshaped(a, Shape{1, a.type.shape[0]});
  if (b.type.shape.rank() == 1) b = node.reshaped(b, Shape{b.type.shape[0], 1});
  const Shape as = a.type.shape;
  const Shape bs = b.type.shape;
  const std::int64_t rows = as[as.rank() - 2].value();
  const std::int64_t depth = as[as.rank() - 1].value();
  const std::int64_t columns = bs[bs.rank() - 1].value();
  if (!surely_equal(bs[bs.rank() - 2], depth)) invalid("factors that do not fit together");
  if (bs.rank() == 2) {  // all rows at once
    if (depth == 0) impossible("a product over no elements");
    const std::int64_t all_rows = as.element_count().value_or(0) / depth;
    return node.reshaped(matrix_product(node, node.reshaped(a, Shape{all_rows, depth}), b), result);
  }
  // The leading axes of both, stretched to those of the result.
  std::vector<std::int64_t> batch;
  const std::int64_t rank = std::max(as.rank(), bs.rank()) - 2;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const auto extent_of = [&](const Shape& shape) {
      const std::int64_t at = axis - (rank - (shape.rank() - 2));
      return at < 0 ? 1 : shape[at].value();
    };
    batch.push_back(extent_of(as) == 1 ? extent_of(bs) : extent_of(as));
  }
  const std::int64_t count = Shape(batch).element_count().value_or(0);
  a = node.reshaped(node.expanded(a, with_batch(batch, rows, depth)), Shape{count, rows, depth});
  b = node.reshaped(node.expanded(b, with_batch(batch, depth, columns)),
                    Shape{count, depth, columns});
  return node.reshaped(batch_product(node, a, b), result);
}

Term sum_of(LoweredNode& node, const Term& a, const Term& b) {
  return node.together(addition, a, b, node.result_shape());
}

Term scaled(LoweredNode& node, const Term& term, double factor) {
  if (factor == 1) return term;
  return node.map(std::array{term}, term.type.element, term.type.shape, [&](Region& region) {
    return region.multiply(region.argument(0), region.number(region.argument(0), factor));
  });
}

void lower_matmul(LoweredNode& node) {
  node.finish(product(node, node.operand(0), node.operand(1), node.result_shape()));
}

/// alpha * a b + beta * c
void finish_product(LoweredNode& node, const Term& product, std::size_t summand) {
  const auto alpha = node.attribute_or<double>("alpha", 1);
  const auto beta = node.attribute_or<double>("beta", 1);
  const Term result = scaled(node, product, alpha);
  if (!node.has(summand) || beta == 0) {
    node.finish(result);
  } else {
    node.finish(sum_of(node, result, scaled(node, node.operand(summand), beta)));
  }
}

constexpr std::array<std::int64_t, 2> swapped{1, 0};

void lower_gemm(LoweredNode& node) {
  const ops::Gemm gemm{node.node()};
  Term a = node.operand(0);
  Term b = node.operand(1);
  if (a.type.shape.rank() != 2 || b.type.shape.rank() != 2) invalid("factors that are no matrices");
  if (gemm.trans_a()) a = node.transposed(a, swapped);
  if (gemm.trans_b()) b = node.transposed(b, swapped);
  finish_product(node, product(node, a, b, node.result_shape()), 2);
}

void lower_linear(LoweredNode& node) {
  const Term weight = node.transposed(node.operand(1), swapped);
  const Term made = product(node, node.operand(0), weight, node.result_shape());
  node.finish(node.has(2) ? sum_of(node, made, node.operand(2)) : made);
}

void lower_addmm(LoweredNode& node) {
  finish_product(node, product(node, node.operand(1), node.operand(2), node.result_shape()), 0);
}

constexpr std::array lowered_products{
    LowerRule{ops::Addmm::kind, lower_addmm},        LowerRule{ops::Baddbmm::kind, lower_addmm},
    LowerRule{ops::BatchMatMul::kind, lower_matmul}, LowerRule{ops::Gemm::kind, lower_gemm},
    LowerRule{ops::Linear::kind, lower_linear},      LowerRule{ops::MatMul::kind, lower_matmul},
};

}  // namespace

LowerRules products_rules() noexcept { return lowered_products; }

}  // namespace quadrant::inline v0::mlir_ir
