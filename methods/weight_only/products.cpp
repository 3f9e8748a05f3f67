// Sums of products ask for a scale for each channel that they keep: output channels of
// convolutions, rows of A and columns of B.
#include <algorithm>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// Weights [M, C / group, kernel...] or, transposed, [C, M / group, kernel...], into [N, M,
// spatial...].
Weight kernel(NodeRef node, const Product& product, std::int64_t channel) {
  const Shape& shape = node.operand_type(product.weight)->shape;
  Weight weight{.operand = product.weight,
                .channel = channel,
                .contracted = 1 - channel,
                .result_axis = shape.rank() - product.result_channel};
  if (channel != 0) {
    // Every group's channels have the same scales. No more groups than input channels.
    weight.repeats = node.attribute_or<std::int64_t>("group", 1);
    const std::int64_t inputs = shape.rank() > 0 ? shape[0].value_or(0) : 0;
    if (weight.repeats < 1 || weight.repeats > inputs) weight.result_axis = 0;
  }
  return weight;
}

// `kept_last`: the axis that the product keeps is the last one, not the last but one.
Weight matrix(std::uint32_t operand, std::int64_t rank, bool kept_last, std::int64_t result_axis) {
  if (rank < 2) return {.operand = operand, .channel = -1, .contracted = rank - 1};
  const std::int64_t kept = kept_last ? rank - 1 : rank - 2;
  return {.operand = operand,
          .channel = kept,
          .contracted = kept_last ? rank - 2 : rank - 1,
          .result_axis = result_axis};
}

// Null, unless the operation's row does not say what its operands are.
using Parts = const Product*;

Weighted weighted(NodeRef node, Parts parts) {
  const Operation& row = *find_operation(node);
  const Product& product = parts == nullptr ? *row.product : *parts;
  const TensorType* const type = node.operand_type(product.weight);
  const std::int64_t rank = type == nullptr ? 0 : type->shape.rank();  // 0: not known
  constexpr std::int64_t unknown = -1;
  const std::int64_t channel =
      type == nullptr ? unknown : product.channel(node, type->shape).value_or(unknown);
  Weighted found;
  if (product.bias < row.operands.most) {
    found.bias = Bias{.operand = product.bias,
                      .is_channelwise = is_convolution(product),
                      .is_required = product.bias < row.operands.least,
                      .is_row = row.roles.of(product.bias) != Role::term};
  }
  if (is_convolution(product)) {
    found.weights.push_back(kernel(node, product, std::max<std::int64_t>(channel, 0)));
    return found;
  }
  if (row.roles.of(product.data) == Role::factor) {
    const TensorType* const a = node.operand_type(product.data);
    const bool is_transposed = row.kind == ops::Gemm::kind && ops::Gemm{node}.trans_a();
    // Counted from the end, A's rows are the last but one axis of the result; with a
    // one-dimensional B, the last.
    found.weights.push_back(matrix(product.data, a == nullptr ? 0 : a->shape.rank(), is_transposed,
                                   std::min<std::int64_t>(rank, 2)));
  }
  found.weights.push_back(
      matrix(product.weight, rank, channel == unknown || channel == rank - 1, 1));
  return found;
}

QUADRANT_PARAMETERIZED_CONSUMER(
    ProductMethod, WeightOnly, Parts,
    requires_parents(AnyQuantizable, AnyQuantizable, or_absent(AnyState)),
    requires_parents(AnyQuantizable, AnyUnquantized, or_absent(AnyState)),
    requires_parents(AnyUnquantized, AnyQuantizable, or_absent(AnyState))) {
  using ProductMethodBase::ProductMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    request_weights(scheme(), node, weighted(node, parameters()), asks);
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, weighted(node, parameters()), context);
  }
};

// The same with the addend first, as in addmm.
QUADRANT_PARAMETERIZED_CONSUMER(SumFirstMethod, WeightOnly, Parts,
                                requires_parents(AnyState, AnyQuantizable, AnyQuantizable),
                                requires_parents(AnyState, AnyQuantizable, AnyUnquantized),
                                requires_parents(AnyState, AnyUnquantized, AnyQuantizable)) {
  using SumFirstMethodBase::SumFirstMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    request_weights(scheme(), node, weighted(node, parameters()), asks);
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, weighted(node, parameters()), context);
  }
};

// Of which the second operand alone may be a weight: convolutions, whatever the number of spatial
// axes and groups.
QUADRANT_PARAMETERIZED_CONSUMER(ConvolutionMethod, WeightOnly, Parts,
                                requires_parents(AnyState, AnyQuantizable, or_absent(AnyState))) {
  using ConvolutionMethodBase::ConvolutionMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    if (node.operand_type(1)->shape.rank() < 2) {
      asks.refuse("the kernel has no channels");
    } else {
      request_weights(scheme(), node, weighted(node, parameters()), asks);
    }
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, weighted(node, parameters()), context);
  }
};

template <std::uint32_t data, Role of_data>
bool is_product(const Operation& row) {
  return row.product != nullptr && row.product->data == data && row.product->weight == data + 1 &&
         row.roles.of(data) == of_data;
}

std::optional<std::int64_t> last_axis(NodeRef /*node*/, const Shape& weight) {
  return weight.rank() - 1;
}

}  // namespace

void register_products(WeightOnly::Registration& methods) {
  methods.add_where<ProductMethod>(is_product<0, Role::factor>);
  methods.add_where<SumFirstMethod>(is_product<1, Role::factor>);
  methods.add_where<ConvolutionMethod>(is_product<0, Role::data>);
  static constexpr Product baddbmm{ops::Baddbmm::kind, 1, 2, 0, last_axis};
  methods.add_parameterized<SumFirstMethod, ops::Baddbmm>(&baddbmm);
}

}  // namespace quadrant::inline v0::weight_only
