#include "quadrant/methods/qdq_fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/phases/given_forms.hpp"
#include "qdq_fusion/added_bias.hpp"
#include "qdq_fusion/explicit_model.hpp"
#include "qdq_fusion/forms.hpp"
#include "qdq_fusion/methods.hpp"
#include "qdq_fusion/signed_codes.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

QUADRANT_METHODS(QdqFusion) { qdq_fusion::register_borders(*this); }

QUADRANT_DEQUANTIZER(QdqFusion)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}

Expected<QdqFusion> QdqFusion::make(const GraphView& graph, QdqFusionOptions options) {
  if (std::ranges::find(fusion_targets, options.target) == fusion_targets.end()) {
    return fail(ErrorCode::usage,
                fmt::format("qdq_fusion has no kernels of {} to fuse operations for",
                            to_string(options.target)));
  }
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  QdqFusion scheme(options);
  scheme.forms_ = std::make_shared<const std::unordered_map<NodeId, FusedForms>>(
      qdq_fusion::find_forms(graph, order, options.target));
  return scheme;
}

std::string QdqFusion::describe() const {
  return std::string("target=") + std::string(to_string(options_.target));
}

const FusedForms& QdqFusion::forms(NodeId node) const noexcept {
  static const FusedForms none;
  const auto found = forms_->find(node);
  return found == forms_->end() ? none : found->second;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
std::optional<GivenForm> QdqFusion::recognize(const TensorType& type) const {
  return GivenForm::of(type.uniform());
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
Expected<Value> QdqFusion::enter(Value real, const GivenForm& to, RewriteContext& context) const {
  return context.quantize(real, to.type);
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
Expected<Value> QdqFusion::convert(Value quantized, const GivenForm& to,
                                   RewriteContext& context) const {
  return requantize_given(quantized, to, context);
}

std::optional<Gain> QdqFusion::price(const ConversionOf<GivenForm>& conversion,
                                     const GainModel& gains) const {
  switch (conversion.kind()) {
    case ConversionKind::enter: {
      const bool is_constant = conversion.graph->constant(conversion.value.node) != nullptr;
      const bool is_wanted = forms(conversion.value.node).sink == *conversion.to();
      // What has a rule and is not fused has a `quantize` behind it already.
      const bool has_rule =
          qdq_fusion::find_rule(options_.target, conversion.graph->kind(conversion.value.node)) !=
          nullptr;
      if (is_constant || !is_wanted || has_rule || options_.target == KernelsTarget::webnn) {
        return std::nullopt;
      }
      break;
    }
    case ConversionKind::convert: {
      // The browsers' converter makes no operation that was not there.
      const bool is_plain = conversion.from()->is_per_tensor() && conversion.to()->is_per_tensor();
      if (!is_plain || options_.target == KernelsTarget::webnn) return std::nullopt;
      break;
    }
    case ConversionKind::leave:
      break;
  }
  return gains.of_conversion(conversion);
}

Expected<Registry> qdq_fusion_registry(const GraphView& graph, const QdqFusionOptions& options) {
  using qdq_fusion::ParameterFamily;
  QUADRANT_TRY(QdqFusion scheme, QdqFusion::make(graph, options));
  RegistryBuilder builder = RegistryBuilder::of(std::move(scheme));
  QdqFusion::Registration methods(builder);
  for (const qdq_fusion::KernelRule& rule : qdq_fusion::rules(options.target)) {
    switch (rule.family) {
      case ParameterFamily::product:
        qdq_fusion::register_product(methods, rule);
        break;
      case ParameterFamily::rescaling:
        qdq_fusion::register_rescaling(methods, rule);
        break;
      case ParameterFamily::same:
        qdq_fusion::register_same(methods, rule);
        break;
      case ParameterFamily::fixed:
        qdq_fusion::register_fixed(methods, rule);
        break;
      case ParameterFamily::reader:
        qdq_fusion::register_reader(methods, rule);
        break;
    }
  }
  return std::move(builder).freeze();
}

Expected<FusedGraph> quantize_qdq(const Graph& graph, const QdqFusionOptions& options,
                                  const QuantizeOptions& run) {
  QUADRANT_TRY(Graph model, qdq_fusion::explicit_model(graph));
  // The browsers' converter takes an Add for an Add.
  if (options.target != KernelsTarget::webnn) qdq_fusion::take_added_biases(model);
  std::int64_t made_signed = 0;
  if (options.target == KernelsTarget::tflite) {
    QUADRANT_TRY(made_signed, qdq_fusion::prefer_signed_codes(model));
  }
  QUADRANT_TRY(const Registry registry, qdq_fusion_registry(model, options));
  QUADRANT_TRY(QuantizeResult result, quantize_given(model, registry, run));
  return FusedGraph{std::move(model), std::move(result.graph), std::move(result.analysis),
                    made_signed};
}

}  // namespace quadrant::inline v0
