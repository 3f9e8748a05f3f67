#include "weight_only/weighted.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/graph_rewriter.hpp"
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
  std::string why_not{};  ///< where it was asked for
};

// An IR may lack an operation of which `put_scales_behind` would add one: casts of the codes, a
// product, and, for a bias that is computed, a sum.
std::optional<std::string> why_not_emitted(const WeightOnly& scheme, NodeRef node,
                                           const Weight& weight, const std::optional<Bias>& bias,
                                           const Granularity& groups) {
  const Capabilities* const ir = node.graph->capabilities();
  const TensorType& type = *node.operand_type(weight.operand);
  const auto codes = scheme.type_of(groups, type);
  if (ir == nullptr || !codes) return std::nullopt;
  const TensorType plain{codes->element, codes->shape, nullptr};
  const TensorType& sum = node.type();
  std::vector<Extent> extents;
  if (groups.kind == Granularity::Kind::axis) {
    extents.assign(static_cast<std::size_t>(weight.result_axis), 1);
    extents.front() = Extent::open();
  }
  const std::array scaled{sum, TensorType{type.element, Shape(std::move(extents)), nullptr}};
  std::vector<Expected<void>> answers{
      ir->can_emit(ops::StorageCast::kind, std::span(&*codes, 1), plain),
      ir->can_emit(ops::StorageCast::kind, std::span(&plain, 1), *codes),
      ir->can_emit(ops::Multiply::kind, scaled, sum)};
  const bool is_added_behind = bias && !node.operand(bias->operand).is_absent() &&
                               node.operand_constant(bias->operand) == nullptr;
  if (is_added_behind) answers.push_back(ir->can_emit(ops::Add::kind, scaled, sum));
  const auto refused = std::ranges::find_if(answers, [](const auto& answer) { return !answer; });
  if (refused == answers.end()) return std::nullopt;
  return "the graph cannot scale the sum: " + refused->error().message;
}

Choice choose_form(const WeightOnly& scheme, NodeRef node, const Weight& weight,
                   const std::optional<Bias>& bias, const Granularity& groups) {
  const TensorType& type = *node.operand_type(weight.operand);
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
  if (form == Form::fewest && !is_fewer_behind(node, type.shape)) return {};
  if (auto why_not = why_not_emitted(scheme, node, weight, bias, groups)) {
    return {false, *std::move(why_not)};
  }
  return {true};
}

}  // namespace

void request_weights(const WeightOnly& scheme, NodeRef node, const Weighted& weighted,
                     Asks<Granularity>& asks) {
  for (const Weight& weight : weighted.weights) {
    const TensorType* type = node.operand_type(weight.operand);
    if (type == nullptr || !type->shape.is_ranked()) continue;
    const auto groups = scheme.groups(type->shape, weight.channel, weight.contracted);
    if (!groups) {
      asks.refuse(
          weight.channel < 0
              ? "the sum keeps no axis of the weight, so there are no channels"
              : "the sum runs along no whole axis of the weight, on which blocks would lie");
      continue;
    }
    const Choice choice = choose_form(scheme, node, weight, weighted.bias, *groups);
    if (choice.behind) {
      asks.take(weight.operand, *groups);
    } else {
      asks.benefit(weight.operand, *groups);
      // Said of weights only: activations ask in vain anyway.
      if (!choice.why_not.empty() && node.operand_constant(weight.operand) != nullptr) {
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
