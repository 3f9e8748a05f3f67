#include "quadrant/methods/fake_quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/phases/given_forms.hpp"
#include "fake_quantize/align.hpp"
#include "fake_quantize/methods.hpp"
#include "fake_quantize/profiles.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

QUADRANT_METHODS(FakeQuantizeScheme) { low_precision::register_borders(*this); }

QUADRANT_DEQUANTIZER(FakeQuantizeScheme)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}

Expected<FakeQuantizeScheme> FakeQuantizeScheme::make(const GraphView& graph,
                                                      FakeQuantizeOptions options) {
  if (std::ranges::find(low_precision_targets, options.target) == low_precision_targets.end()) {
    return fail(ErrorCode::usage,
                fmt::format("fake_quantize is for the kernels of OpenVINO's devices, not of {}",
                            to_string(options.target)));
  }
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  FakeQuantizeScheme scheme(options);
  scheme.pending_ = std::make_shared<const std::unordered_map<NodeId, PendingDequantize>>(
      low_precision::follow_dequantized(graph, order, options.target));
  return scheme;
}

std::string FakeQuantizeScheme::describe() const {
  return std::string("target=").append(to_string(options_.target));
}

const PendingDequantize& FakeQuantizeScheme::pending(NodeId node) const noexcept {
  static const PendingDequantize none;
  const auto found = pending_->find(node);
  return found == pending_->end() ? none : found->second;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
std::optional<GivenForm> FakeQuantizeScheme::recognize(const TensorType& type) const {
  return GivenForm::of(type.uniform());
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
Expected<Value> FakeQuantizeScheme::convert(Value quantized, const GivenForm& to,
                                            RewriteContext& context) const {
  return requantize_given(quantized, to, context);
}

namespace {

// Each fake_quantize that stayed, with the reason.
Vetoes vetoes_of(const SplitGraph& split) {
  Vetoes vetoes;
  for (const LeftAlone& note : split.notes) {
    const Value value = split.graph.find_value(note.name);
    const bool stayed =
        !value.is_absent() && split.graph.kind(value.node) == ops::FakeQuantize::kind;
    if (stayed) vetoes.emplace(value.node, note.reason);
  }
  return vetoes;
}

}  // namespace

Expected<Registry> fake_quantize_registry(const GraphView& graph,
                                          const FakeQuantizeOptions& options) {
  QUADRANT_TRY(FakeQuantizeScheme scheme, FakeQuantizeScheme::make(graph, options));
  RegistryBuilder builder = RegistryBuilder::of(std::move(scheme));
  FakeQuantizeScheme::Registration methods(builder);
  low_precision::register_computations(methods, low_precision::profile(options.target));
  return std::move(builder).freeze();
}

Expected<LowPrecision> quantize_simulated(const Graph& graph, const FakeQuantizeOptions& options,
                                          const QuantizeOptions& run) {
  QUADRANT_TRY(SplitGraph split, split_fake_quantize(graph, options));
  QUADRANT_CHECK(low_precision::align_branches(split, options.target));
  QUADRANT_TRY(const Registry registry, fake_quantize_registry(split.graph, options));
  QuantizeOptions chosen = run;
  chosen.vetoes.merge(vetoes_of(split));
  QUADRANT_TRY(QuantizeResult result, quantize_given(split.graph, registry, std::move(chosen)));
  LowPrecision lowered{std::move(split.graph), std::move(result.graph), std::move(result.analysis),
                       0, std::move(split.notes)};
  lowered.fused_back = fuse_back_fake_quantize(lowered.graph, split.splits);
  return lowered;
}

}  // namespace quadrant::inline v0
