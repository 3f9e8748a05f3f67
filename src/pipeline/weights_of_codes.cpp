#include "pipeline/weights_of_codes.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/recipe/recipe.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<QuantizeOptions> options_for(const SchemeSubject& subject,
                                      std::span<const SchemeChoice> choices, const Graph& graph,
                                      const Registry& registry) {
  const RunRequest& request = subject.request;
  const Recipe& recipe = request.recipe.recipe;
  QUADRANT_TRY(RuleDecisions rules, apply_rules(graph, recipe, request.recipe.label));
  QUADRANT_TRY(Scope scope,
               find_scope(graph, registry, {recipe.include, recipe.exclude}, origin_of(request)));
  scope.value_vetoes.merge(rules.value_vetoes);
  QuantizeOptions options;
  options.vetoes = std::move(scope.vetoes);
  options.value_vetoes = std::move(scope.value_vetoes);
  for (auto& [name, vetoes] : rules.vetoes) {
    const bool is_made = std::ranges::find(choices, name, &SchemeChoice::name) != choices.end();
    if (is_made) options.scheme_vetoes.emplace(name, std::move(vetoes));
  }
  options.non_finite = NonFinitePolicy::leave_float;
  options.executor = subject.context.executor;
  return options;
}

}  // namespace

Expected<WeightsOfCodes> weights_of_codes(const SchemeSubject& subject,
                                          std::span<const SchemeChoice> choices, const Graph& graph,
                                          std::shared_ptr<const SecondMomentsTable> moments) {
  SchemeData data;
  data.moments = std::move(moments);
  QUADRANT_TRY(const Registry registry, make_registry(choices, data));
  QUADRANT_TRY(const QuantizeOptions options, options_for(subject, choices, graph, registry));
  QUADRANT_TRY(const QuantizeResult result, quantize(graph, registry, options));
  WeightsOfCodes found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.constant(node) == nullptr) continue;
    if (!result.graph.contains(node) || graph.type({node}).is_quantized()) continue;
    const Quantization& type = result.graph.type({node}).quantization;
    if (!type) continue;
    QUADRANT_TRY(Constant reals, dequantized(*result.graph.constant(node), type));
    found.emplace(graph.value_name({node}), std::move(reals));
  }
  return found;
}

}  // namespace quadrant::inline v0
