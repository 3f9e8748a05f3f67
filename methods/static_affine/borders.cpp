// The model's inputs and outputs: real values, unless codes are asked for.
#include <algorithm>

#include "quadrant/ir/ops.hpp"
#include "static_affine/activations.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// Files have one name for both: they are codes both, or real values.
bool is_output(NodeRef input) {
  return std::ranges::any_of(input.graph->uses(input.id), [&](const Use& use) {
    return input.graph->kind(use.user) == ops::Output::kind;
  });
}

QUADRANT_QUANTIZER(InputMethod, StaticAffine, ops::Input) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    if (!scheme().options().quantized_inputs) {
      return {State::Unquantized, "the model's inputs stay float"};
    }
    if (!is_float(node.type().element)) return {State::Unquantized, "it is not float"};
    if (!scheme().options().quantized_outputs && is_output(node)) {
      return {State::Unquantized, "it is also an output, and outputs stay float"};
    }
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
  void request(NodeRef node, Asks& asks) const override {
    const StaticAffineOptions& options = scheme().options();
    const bool is_input = node.graph->kind(node.operand(0).node) == ops::Input::kind;
    if (options.quantized_outputs && (options.quantized_inputs || !is_input)) {
      asks.take(0, scheme().activation());
    }
  }
};

}  // namespace

void register_borders(StaticAffine::Registration& methods) {
  methods.add<InputMethod>();
  methods.add<OutputMethod>();
}

}  // namespace quadrant::inline v0::static_affine
