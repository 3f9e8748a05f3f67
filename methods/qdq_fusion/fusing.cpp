#include "qdq_fusion/fusing.hpp"

#include <algorithm>

namespace quadrant::inline v0::qdq_fusion {

Verdict fusible(const QdqFusion& scheme, NodeRef node) {
  const FusedForms& forms = scheme.forms(node.id);
  if (forms.sink || forms.origin) return {State::Quantizable};
  return {State::Unquantized,
          forms.why_no_sink != nullptr ? forms.why_no_sink : "its result is not float"};
}

void add_forms(const QdqFusion& scheme, NodeRef node, Possibilities<GivenForm>& possibilities) {
  const FusedForms& forms = scheme.forms(node.id);
  if (forms.sink) possibilities.add(*forms.sink);
  if (forms.origin) possibilities.add(*forms.origin);
}

std::vector<GivenForm> operand_forms(const Asks<GivenForm>& asks, NodeRef node,
                                     std::uint32_t operand) {
  std::vector<GivenForm> forms;
  const Value value = node.operand(operand);
  if (value.is_absent()) return forms;
  const std::size_t count = asks.possible_count(value).value_or(0);
  forms.reserve(count);
  for (std::size_t i = 0; i < count; ++i) forms.push_back(asks.possible(value, i));
  return forms;
}

const char* refuse_form(const KernelRule& rule, const GivenForm& form) {
  if (!form.is_per_tensor()) return "its values have several scales";
  if (!rule.storages.contains(form.storage())) return "no kernel computes on codes of this type";
  if (form.scale < 0) return "a scale is negative";
  if (form.type->expressed != ElementType::float32) return "its expressed type is not float32";
  const bool is_centred = form.zero_point == 0;
  if (form.storage() == ElementType::int16 && !is_centred) {
    return "codes of 16 bits must have zero point 0";
  }
  const IntegerRange range = integer_range(form.storage()).value_or(IntegerRange{});
  if (form.type->storage_min != range.min || form.type->storage_max != range.max) {
    return "its codes have a range of their own";
  }
  return nullptr;
}

Expected<void> set_forms(NodeRef node, RewriteContext& context) {
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    const Value result = node.result(i);
    if (const auto* const form = context.form<GivenForm>(result)) {
      QUADRANT_CHECK(context.set_quantized(result, form->type));
    }
  }
  return {};
}

}  // namespace quadrant::inline v0::qdq_fusion
