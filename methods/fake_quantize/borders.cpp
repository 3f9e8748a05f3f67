// `dequantize`, where codes are remembered as real numbers, and `quantize`, which takes them over.
#include <optional>
#include <utility>

#include "engine/phases/given_forms.hpp"
#include "fake_quantize/methods.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

// The form in which all who read the node's results quantize them. Where they differ, or one reads
// real numbers, each form has to be made of the pending one: another has other numbers.
std::optional<GivenForm> quantized_by_all_readers(NodeRef node) {
  std::optional<GivenForm> common;
  for (const Use& use : node.graph->uses(node.id)) {
    if (node.graph->kind(use.user) != ops::Quantize::kind) return std::nullopt;
    auto form = GivenForm::of(node.graph->type({use.user}).uniform());
    if (!form || (common && common != form)) return std::nullopt;
    common = std::move(form);
  }
  return common;
}

// The root: its result can be the codes that it reads.
QUADRANT_QUANTIZER(DequantizeMethod, FakeQuantizeScheme, ops::Dequantize,
                   requires_parents(AnyQuantized)) {
  void possible(NodeRef node, Possibilities& possibilities) const override {
    add_forms(scheme().pending(node.id), node, possibilities);
  }

  void request(NodeRef node, Asks& asks) const override {
    const PendingDequantize& pending = scheme().pending(node.id);
    if (pending.form) asks.produce(*pending.form);
  }

  void callback(const GivenForm& wanted, NodeRef /*node*/, Asks& asks) const override {
    asks.compute({{0, wanted}});
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.replace(node.result(), node.operand(0));
  }
};

// Requantize: it asks for the codes that it makes, of whoever computes what it reads.
QUADRANT_CONSUMER(QuantizeMethod, FakeQuantizeScheme, ops::Quantize,
                  requires_parents(AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override { request_own_form(node, asks); }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return take_codes_over(node, context);
  }
};

}  // namespace

void add_forms(const PendingDequantize& pending, NodeRef node,
               Possibilities<GivenForm>& possibilities) {
  if (!pending.form) return;
  possibilities.add(*pending.form);
  const auto wanted = quantized_by_all_readers(node);
  if (wanted && wanted != pending.form) possibilities.add(*wanted);
}

void register_borders(FakeQuantizeScheme::Registration& methods) {
  methods.add<DequantizeMethod>();
  methods.add<QuantizeMethod>();
}

}  // namespace quadrant::inline v0::low_precision
