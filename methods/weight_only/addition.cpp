// A bias that is added behind a product: a scale that was put between the two goes behind both, so
// that who fuses products with additions still can.
//
//   (x codes) * scale + b   becomes   (x codes + b / scale) * scale
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/quotient.hpp"
#include "weight_only/scale_behind.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// It asks for nothing.
QUADRANT_CONSUMER(AdditionMethod, WeightOnly, ops::Add, requires_parents(AnyConsumer, AnyState),
                  requires_parents(AnyState, AnyConsumer)) {
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    for (std::uint32_t operand = 0; operand < 2; ++operand) {
      const NodeRef scaled{node.graph, node.operand(operand).node};
      const std::uint32_t other = 1 - operand;
      const Constant* bias = node.operand_constant(other);
      if (!is_ours(scaled, context) || bias == nullptr || context.quantization(node.operand(other)))
        continue;
      const Value unscaled = scaled.operand(0);
      const Value scale = scaled.operand(1);
      // Where the sum has another shape, the scale would have to be repeated.
      const Shape& shape = node.type().shape;
      if (!shape.is_ranked() || shape != context.view().type(unscaled).shape) continue;
      QUADRANT_TRY(Constant divided, quotient(*bias, *scaled.operand_constant(1)));
      if (!divided) continue;
      const std::string name(context.view().value_name(node.operand(other)));
      QUADRANT_TRY(const Value made, context.emit_constant(name + "_unscaled", std::move(divided)));
      QUADRANT_CHECK(context.graph().set_operand(node.id, operand, unscaled));
      QUADRANT_CHECK(context.graph().set_operand(node.id, other, made));
      return multiply_behind(node.result(), scale, context);
    }
    return {};
  }

 private:
  // A multiplication that was put behind a product, and that nobody else reads.
  static bool is_ours(NodeRef scaled, const RewriteContext& context) {
    return scaled.kind() == ops::Multiply::kind &&
           context.current(scaled.operand(0)) == scaled.result() &&
           scaled.operand_constant(1) != nullptr && scaled.graph->uses(scaled.id).size() == 1;
  }
};

}  // namespace

void register_addition(WeightOnly::Registration& methods) { methods.add<AdditionMethod>(); }

}  // namespace quadrant::inline v0::weight_only
