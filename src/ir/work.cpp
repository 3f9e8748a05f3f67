#include "ir/work.hpp"

#include <algorithm>

#include "ir/operations/products.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

// A sum over an axis that nobody knows, of a sequence say, is none of one term.
constexpr std::int64_t unknown_terms = 32;

std::int64_t known(Extent extent) noexcept { return std::max<std::int64_t>(extent.value_or(1), 1); }

// The extent of the operand's axis that is `place` from the end, where it is known.
Extent extent_from_end(NodeRef node, std::uint32_t operand, std::int64_t place) noexcept {
  const TensorType* type = node.operand_type(operand);
  if (type == nullptr || type->shape.rank() < place) return Extent::open();
  return type->shape[type->shape.rank() - place];
}

// The terms of each sum: either factor may know.
std::int64_t terms(Extent by_first, Extent by_second) noexcept {
  return known_one(by_first, by_second).value_or(unknown_terms);
}

// Each element of `spread` meets the weight's elements of one index along its first axis.
std::int64_t windows(const Shape& spread, const TensorType* weight) noexcept {
  if (weight == nullptr || weight->shape.rank() < 1) return counted_elements(spread);
  std::int64_t window = 1;
  for (std::int64_t axis = 1; axis < weight->shape.rank(); ++axis) {
    window = saturating_multiply(window, known(weight->shape[axis]));
  }
  return saturating_multiply(counted_elements(spread), window);
}

std::int64_t results_times(NodeRef node, std::int64_t sum) noexcept {
  return saturating_multiply(counted_elements(node.type().shape), sum);
}

}  // namespace

namespace detail {

std::int64_t conv_work(NodeRef node) noexcept {
  return windows(node.type().shape, node.operand_type(1));
}

std::int64_t conv_transpose_work(NodeRef node) noexcept {
  const TensorType* data = node.operand_type(0);
  return data == nullptr ? 0 : windows(data->shape, node.operand_type(1));
}

std::int64_t matmul_work(NodeRef node) noexcept {
  return results_times(node, terms(extent_from_end(node, 0, 1), extent_from_end(node, 1, 2)));
}

std::int64_t linear_work(NodeRef node) noexcept {
  return results_times(node, terms(extent_from_end(node, 0, 1), extent_from_end(node, 1, 1)));
}

std::int64_t gemm_work(NodeRef node) noexcept {
  const ops::Gemm gemm{node};
  return results_times(node, terms(extent_from_end(node, 0, gemm.trans_a() ? 2 : 1),
                                   extent_from_end(node, 1, gemm.trans_b() ? 1 : 2)));
}

// Of C + A B.
std::int64_t added_product_work(NodeRef node) noexcept {
  return results_times(node, terms(extent_from_end(node, 1, 1), extent_from_end(node, 2, 2)));
}

}  // namespace detail

std::int64_t counted_elements(const Shape& shape) noexcept {
  std::int64_t count = 1;
  for (const Extent extent : shape.extents()) {
    count = surely_equal(extent, 0) ? 0 : saturating_multiply(count, known(extent));
  }
  return count;
}

std::int64_t multiply_accumulates(NodeRef node) noexcept {
  const Operation* const operation = find_operation(node);
  return operation == nullptr || operation->work == nullptr ? 0 : operation->work(node);
}

std::uint32_t first_factor(NodeRef node) noexcept { return role_of(node, 0) == Role::term ? 1 : 0; }

}  // namespace quadrant::inline v0
