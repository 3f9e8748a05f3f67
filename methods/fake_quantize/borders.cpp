// `dequantize`, where codes are remembered as real numbers, and `quantize`, which takes them over.
#include <algorithm>
#include <vector>

#include "fake_quantize/methods.hpp"
#include "quadrant/engine/given_forms.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

// The forms in which those who read the node's results quantize them, each once, in order.
std::vector<GivenForm> quantized_by_readers(NodeRef node) {
  std::vector<GivenForm> forms;
  constexpr std::size_t most_forms = 8;
  for (const Use& use : node.graph->uses(node.id)) {
    if (node.graph->kind(use.user) != ops::Quantize::kind || forms.size() == most_forms) continue;
    auto form = GivenForm::of(node.graph->type({use.user}).quantization);
    if (form && std::ranges::find(forms, *form) == forms.end()) forms.push_back(*std::move(form));
  }
  std::ranges::sort(forms);
  return forms;
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
  for (const GivenForm& form : quantized_by_readers(node)) {
    if (form != pending.form) possibilities.add(form);
  }
}

void register_borders(FakeQuantizeScheme::Registration& methods) {
  methods.add<DequantizeMethod>();
  methods.add<QuantizeMethod>();
}

}  // namespace quadrant::inline v0::low_precision
