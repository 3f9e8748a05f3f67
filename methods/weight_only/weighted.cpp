#include "weight_only/weighted.hpp"

#include <vector>

#include "quadrant/ir/ops.hpp"
#include "weight_only/scale_behind.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

using Form = WeightOnlyOptions::Form;

// Whether multiplying each element of the result takes fewer multiplications than dequantizing the
// weight.
bool is_fewer_behind(NodeRef node, const Shape& weight) {
  const auto results = node.type().shape.element_count();
  const auto weights = weight.element_count();
  return results && weights && *results < *weights;
}

struct Choice {
  bool behind = false;
  const char* why_not = nullptr;  ///< where it was asked for
};

Choice choose_form(const WeightOnly& scheme, NodeRef node, const Weight& weight,
                   const TensorType& type, const Granularity& groups) {
  const Form form = scheme.options().form;
  if (form == Form::front) return {};
  if (groups.kind == Granularity::Kind::block) {
    return {false, "the scale differs along the axis that is summed, so it cannot go behind"};
  }
  if (weight.result_axis == 0) {
    return {false, "the result is no multiple of the weight's scale, so it cannot go behind"};
  }
  if (type.element == ElementType::float16) {
    return {false,
            "sums of float16 products with codes can pass 65504, so the scale stays in front"};
  }
  if (type.element != ElementType::float32 && type.element != ElementType::float64) {
    return {false, "the type cannot hold the scale exactly enough behind the sum"};
  }
  return {form == Form::behind || is_fewer_behind(node, type.shape), nullptr};
}

}  // namespace

void request_weights(const WeightOnly& scheme, NodeRef node, const Weighted& weighted,
                     Asks<Granularity>& asks) {
  for (const Weight& weight : weighted.weights) {
    const TensorType* type = node.operand_type(weight.operand);
    if (type == nullptr || !type->shape.is_ranked()) continue;
    const auto groups = scheme.groups(type->shape, weight.channel, weight.contracted);
    if (!groups) {
      asks.refuse("the sum keeps no axis of the weight, so there are no channels");
      continue;
    }
    const Choice choice = choose_form(scheme, node, weight, *type, *groups);
    if (choice.behind) {
      asks.take(weight.operand, *groups);
    } else {
      asks.benefit(weight.operand, *groups);
      // Said of weights only: activations ask in vain anyway.
      if (choice.why_not != nullptr && node.operand_constant(weight.operand) != nullptr) {
        asks.refuse(choice.why_not);
      }
    }
  }
}

Expected<void> put_scales_behind(NodeRef node, const Weighted& weighted, RewriteContext& context) {
  std::vector<Weight> granted;
  for (const Weight& weight : weighted.weights) {
    if (context.read<Granularity>(node, weight.operand) != nullptr) granted.push_back(weight);
  }
  if (granted.empty()) return {};
  return put_behind(node, granted, weighted.bias, context);
}

}  // namespace quadrant::inline v0::weight_only
