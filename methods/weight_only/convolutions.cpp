// Convolutions ask for their output channels, whatever the number of spatial axes and groups.
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// X [N, C, spatial...], W [M, C / group, kernel...] or, transposed, [C, M / group, kernel...], into
// [N, M, spatial...].
Weighted convolution(NodeRef node) {
  const bool is_transposed = node.kind() == ops::ConvTranspose::kind;
  const std::int64_t rank = node.operand_type(1)->shape.rank();
  Weight weight{.operand = 1,
                .channel = is_transposed ? 1 : 0,
                .contracted = is_transposed ? 0 : 1,
                .result_axis = rank - 1};
  if (is_transposed) {
    // Every group's channels have the same scales. No more groups than input channels.
    weight.repeats = node.attribute_or<std::int64_t>("group", 1);
    const std::int64_t inputs = rank > 0 ? node.operand_type(1)->shape[0].value_or(0) : 0;
    if (weight.repeats < 1 || weight.repeats > inputs) weight.result_axis = 0;
  }
  return {{weight}, Bias{.operand = 2, .is_channelwise = true}};
}

QUADRANT_PARAMETERIZED_CONSUMER(ConvolutionMethod, WeightOnly, std::monostate,
                                requires_parents(AnyState, AnyQuantizable, optional(AnyState))) {
  using ConvolutionMethodBase::ConvolutionMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    if (node.operand_type(1)->shape.rank() < 2) {
      asks.refuse("the kernel has no channels");
    } else {
      request_weights(scheme(), node, convolution(node), asks);
    }
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, convolution(node), context);
  }
};

}  // namespace

void register_convolutions(WeightOnly::Registration& methods) {
  methods.add_parameterized<ConvolutionMethod, ops::Conv>({});
  methods.add_parameterized<ConvolutionMethod, ops::ConvTranspose>({});
}

}  // namespace quadrant::inline v0::weight_only
