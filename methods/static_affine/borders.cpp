// The model's inputs and outputs: real values, unless codes are asked for.
#include "quadrant/ir/ops.hpp"
#include "static_affine/codes.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

QUADRANT_QUANTIZER(InputMethod, StaticAffine, ops::Input) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    if (!scheme().options().quantized_inputs) {
      return {State::Unquantized, "the model's inputs stay real values"};
    }
    if (!is_float(node.type().element)) return {State::Unquantized, "it holds no real numbers"};
    return {State::Quantizable};
  }
  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (makes_activation(scheme(), node, wanted, asks)) asks.accept();
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return compute_codes(node, context);
  }
};

QUADRANT_CONSUMER(OutputMethod, StaticAffine, ops::Output, requires_parents(AnyState)) {
  void request(NodeRef /*node*/, Asks& asks) const override {
    if (scheme().options().quantized_outputs) asks.take(0, scheme().activation());
  }
};

}  // namespace

void register_borders(StaticAffine::Registration& methods) {
  methods.add<InputMethod>();
  methods.add<OutputMethod>();
}

}  // namespace quadrant::inline v0::static_affine
