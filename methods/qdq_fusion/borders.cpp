// `dequantize` and `quantize`: where codes become real numbers and back, and what vanishes when
// both ends of an operation are codes.
#include "engine/phases/given_forms.hpp"
#include "qdq_fusion/fusing.hpp"
#include "qdq_fusion/methods.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

// The root: its result can be the codes that it reads.
QUADRANT_QUANTIZER(DequantizeMethod, QdqFusion, ops::Dequantize, requires_parents(AnyQuantized)) {
  void possible(NodeRef node, Possibilities& possibilities) const override {
    const FusedForms& forms = scheme().forms(node.id);
    if (forms.origin) possibilities.add(*forms.origin);
  }

  // Whoever wants other codes requantizes these.
  void request(NodeRef node, Asks& asks) const override {
    const FusedForms& forms = scheme().forms(node.id);
    if (forms.origin) asks.produce(*forms.origin);
  }

  void callback(const GivenForm& wanted, NodeRef /*node*/, Asks& asks) const override {
    asks.compute({{0, wanted}});
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.replace(node.result(), node.operand(0));
  }
};

// Its result is codes already; it asks for an operand that is the same codes.
QUADRANT_CONSUMER(QuantizeMethod, QdqFusion, ops::Quantize, requires_parents(AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override { request_own_form(node, asks); }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return take_codes_over(node, context);
  }
};

}  // namespace

void register_borders(QdqFusion::Registration& methods) {
  methods.add<DequantizeMethod>();
  methods.add<QuantizeMethod>();
}

}  // namespace quadrant::inline v0::qdq_fusion
