#include "ir/operations/products.hpp"

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

std::optional<std::int64_t> first_axis(NodeRef /*node*/, const Shape& /*weight*/) { return 0; }

std::optional<std::int64_t> second_axis(NodeRef /*node*/, const Shape& /*weight*/) { return 1; }

std::optional<std::int64_t> last_axis(NodeRef /*node*/, const Shape& weight) {
  return weight.rank() < 2 ? std::nullopt : std::optional(weight.rank() - 1);
}

std::optional<std::int64_t> gemm_axis(NodeRef node, const Shape& /*weight*/) {
  return ops::Gemm{node}.trans_b() ? 0 : 1;
}

bool always(NodeRef /*node*/) { return true; }

bool never(NodeRef /*node*/) { return false; }

// With groups, channels of the result share an index of the weight's axis.
bool has_one_group(NodeRef node) { return node.attribute_or<std::int64_t>("group", 1) == 1; }

bool has_no_factors(NodeRef node) {
  return node.attribute_or("alpha", 1.0) == 1 && node.attribute_or("beta", 1.0) == 1;
}

}  // namespace

namespace detail {

constinit const Product conv_product{ops::Conv::kind, 0, 1, 2, first_axis, 1, always};
constinit const Product conv_transpose_product{
    ops::ConvTranspose::kind, 0, 1, 2, second_axis, 1, has_one_group};
constinit const Product gemm_product{ops::Gemm::kind, 0, 1, 2, gemm_axis, -1, has_no_factors};
constinit const Product matmul_product{ops::MatMul::kind, 0, 1, 2, last_axis, -1, never};
constinit const Product batch_matmul_product{ops::BatchMatMul::kind, 0, 1, 2, last_axis, -1, never};
constinit const Product linear_product{ops::Linear::kind, 0, 1, 2, first_axis, -1, always};
constinit const Product addmm_product{ops::Addmm::kind, 1, 2, 0, second_axis, -1, has_no_factors};

}  // namespace detail

const Product* find_product(NodeRef node) noexcept {
  const Operation* const operation = find_operation(node);
  return operation == nullptr ? nullptr : operation->product;
}

}  // namespace quadrant::inline v0
