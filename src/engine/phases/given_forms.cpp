#include "engine/phases/given_forms.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

void request_own_form(NodeRef quantize, Asks<GivenForm>& asks) {
  const auto form = GivenForm::of(quantize.type().uniform());
  if (form) {
    asks.take(0, *form);
  } else {
    asks.refuse(quantize.type().quantization.other()
                    ? "it makes floats or indices, on which no kernel computes"
                    : "its scales cannot be read");
  }
}

Expected<void> take_codes_over(NodeRef quantize, RewriteContext& context) {
  if (context.read<GivenForm>(quantize, 0) == nullptr) return {};
  constexpr std::array named{ops::Input::kind, ops::Constant::kind, ops::Quantize::kind,
                             ops::StorageCast::kind};
  const Value codes = quantize.operand(0);
  const bool has_name = std::ranges::find(named, quantize.graph->kind(codes.node)) != named.end();
  if (has_name) return context.replace(quantize.result(), codes);
  return context.take_place(quantize.result(), codes, "_requantized");
}

Expected<Value> requantize_given(Value quantized, const GivenForm& to, RewriteContext& context) {
  const TensorType type = context.view().type(quantized);
  const std::string name(context.view().value_name(quantized));
  QUADRANT_TRY(const Value real,
               context.emit(ops::Dequantize::kind, {quantized},
                            name + std::string(dequantized_ending), type.expressed()));
  return context.emit(ops::Quantize::kind, {real}, name, {to.storage(), type.shape, to.type});
}

Expected<QuantizeResult> quantize_given(const Graph& graph, const Registry& registry,
                                        QuantizeOptions options) {
  const OperationsGain operations;
  if (options.gains == nullptr) {
    options.gains = &operations;
    options.policy = SelectionPolicy::optimal;
  }
  return quantize(graph, registry, options);
}

}  // namespace quadrant::inline v0
