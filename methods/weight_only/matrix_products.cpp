// Products of matrices. They ask for channels along the axis that the product keeps: rows of A,
// columns of B.
#include <algorithm>

#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// What an operation calls its operands, and whether its matrices lie transposed.
struct Layout {
  std::uint32_t a = 0;
  std::uint32_t b = 1;
  std::optional<Bias> c;
  bool is_b_transposed = false;  ///< always; gemm's attributes come on top
};

// 0: not known.
std::int64_t rank_of(NodeRef node, std::uint32_t operand) {
  const TensorType* type = node.operand_type(operand);
  return type != nullptr ? type->shape.rank() : 0;
}

// `kept_last`: the axis that the product keeps is the last one, not the last but one.
Weight matrix(NodeRef node, std::uint32_t operand, bool kept_last, std::int64_t result_axis) {
  const std::int64_t rank = rank_of(node, operand);
  if (rank < 2) return {.operand = operand, .channel = -1, .contracted = rank - 1};
  const std::int64_t kept = kept_last ? rank - 1 : rank - 2;
  return {.operand = operand,
          .channel = kept,
          .contracted = kept_last ? rank - 2 : rank - 1,
          .result_axis = result_axis};
}

Weighted product(NodeRef node, const Layout& layout) {
  const bool is_gemm = node.kind() == ops::Gemm::kind;
  const bool trans_a = is_gemm && ops::Gemm{node}.trans_a();
  const bool trans_b = layout.is_b_transposed || (is_gemm && ops::Gemm{node}.trans_b());
  // Counted from the end, A's rows are the last but one axis of the result; with a one-dimensional
  // B, the last.
  const std::int64_t rows = std::min<std::int64_t>(rank_of(node, layout.b), 2);
  return {{matrix(node, layout.a, trans_a, rows), matrix(node, layout.b, !trans_b, 1)}, layout.c};
}

QUADRANT_PARAMETERIZED_CONSUMER(
    ProductMethod, WeightOnly, Layout,
    requires_parents(AnyQuantizable, AnyQuantizable, optional(AnyState)),
    requires_parents(AnyQuantizable, AnyUnquantized, optional(AnyState)),
    requires_parents(AnyUnquantized, AnyQuantizable, optional(AnyState))) {
  using ProductMethodBase::ProductMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    request_weights(scheme(), node, product(node, parameters()), asks);
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, product(node, parameters()), context);
  }
};

// The same with the addend first, as in addmm.
QUADRANT_PARAMETERIZED_CONSUMER(SumFirstMethod, WeightOnly, Layout,
                                requires_parents(AnyState, AnyQuantizable, AnyQuantizable),
                                requires_parents(AnyState, AnyQuantizable, AnyUnquantized),
                                requires_parents(AnyState, AnyUnquantized, AnyQuantizable)) {
  using SumFirstMethodBase::SumFirstMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    request_weights(scheme(), node, product(node, parameters()), asks);
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, product(node, parameters()), context);
  }
};

}  // namespace

void register_matrix_products(WeightOnly::Registration& methods) {
  methods.add_parameterized<ProductMethod, ops::MatMul>({});
  methods.add_parameterized<ProductMethod, ops::BatchMatMul>({});
  methods.add_parameterized<ProductMethod, ops::Gemm>({.c = Bias{.operand = 2}});
  methods.add_parameterized<ProductMethod, ops::Linear>(
      {.c = Bias{.operand = 2, .is_row = true}, .is_b_transposed = true});
  const Layout sum_first{.a = 1, .b = 2, .c = Bias{.operand = 0, .is_required = true}};
  methods.add_parameterized<SumFirstMethod, ops::Addmm>(sum_first);
  methods.add_parameterized<SumFirstMethod, ops::Baddbmm>(sum_first);
}

}  // namespace quadrant::inline v0::weight_only
