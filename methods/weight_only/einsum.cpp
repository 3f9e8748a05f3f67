// Einsum of two operands, as far as it is a matrix product: each operand's labels are kept (in the
// result), summed (in neither result), or batch labels (in both operands and the result).
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// Among several axes that are kept, or summed, the longest one tells most.
Weight weight_of(NodeRef node, std::uint32_t operand, const ops::Einsum::Equation& equation) {
  const std::string& own = equation.operands[operand];
  const std::string& other = equation.operands[1 - operand];
  const Shape& shape = node.operand_type(operand)->shape;
  Weight weight{.operand = operand};
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const char label = own[static_cast<std::size_t>(axis)];
    const bool is_kept = has(equation.result, label) && !has(other, label);
    const bool is_summed = !has(equation.result, label);
    if (!is_kept && !is_summed) continue;  // a batch label
    std::int64_t& longest = is_kept ? weight.channel : weight.contracted;
    if (longest < 0 || shape[longest].value_or(0) < shape[axis].value_or(0)) longest = axis;
  }
  if (weight.channel >= 0) {
    const auto place = equation.result.find(own[static_cast<std::size_t>(weight.channel)]);
    weight.result_axis = static_cast<std::int64_t>(equation.result.size() - place);
  }
  return weight;
}

Weighted product(NodeRef node) {
  const auto equation = ops::Einsum{node}.equation();
  Weighted weighted;
  if (!equation || equation->operands.size() != 2) return weighted;
  for (std::uint32_t operand = 0; operand < 2; ++operand) {
    const Shape& shape = node.operand_type(operand)->shape;
    const std::size_t labels = equation->operands[operand].size();
    if (!shape.is_ranked() || static_cast<std::size_t>(shape.rank()) != labels) continue;
    weighted.weights.push_back(weight_of(node, operand, *equation));
  }
  return weighted;
}

QUADRANT_CONSUMER(EinsumMethod, WeightOnly, ops::Einsum,
                  requires_parents(AnyQuantizable, AnyQuantizable),
                  requires_parents(AnyQuantizable, AnyUnquantized),
                  requires_parents(AnyUnquantized, AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override {
    const Weighted weighted = product(node);
    if (weighted.weights.empty()) asks.refuse("the equation is no product of two matrices");
    request_weights(scheme(), node, weighted, asks);
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return put_scales_behind(node, product(node), context);
  }
};

}  // namespace

void register_einsum(WeightOnly::Registration& methods) { methods.add<EinsumMethod>(); }

}  // namespace quadrant::inline v0::weight_only
