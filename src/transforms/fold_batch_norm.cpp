#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "numerics/reals.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/channelwise_step.hpp"
#include "transforms/edits.hpp"
#include "transforms/linear_layer.hpp"

namespace quadrant::inline v0 {

namespace {

using Steps = std::vector<ChannelwiseStep>;

// Whether the first steps are a shift by the mean, a product with 1 / sigma, one with gamma, and a
// shift by beta, as far as their form tells.
bool is_norm_taken_apart(std::span<const ChannelwiseStep> steps) {
  if (steps.size() < 4) return false;
  const auto is_shift = [](const ChannelwiseStep& step) {
    return !step.is_product && !step.moments &&
           std::ranges::all_of(step.factor, [](double factor) { return factor == 1; });
  };
  return is_shift(steps[0]) && steps[1].is_product && steps[2].is_product && is_shift(steps[3]) &&
         std::ranges::all_of(steps[1].factor, [](double factor) { return factor > 0; });
}

ChannelMoments moments_of_norm(const ChannelwiseStep& gamma, const ChannelwiseStep& beta) {
  ChannelMoments moments{.mean = beta.shift, .deviation = gamma.factor};
  for (double& deviation : moments.deviation) deviation = std::abs(deviation);
  return moments;
}

std::optional<ChannelMoments> moments_of(std::span<const ChannelwiseStep> steps) {
  std::optional<ChannelMoments> moments;
  std::size_t first = 0;
  if (is_norm_taken_apart(steps)) {
    moments = moments_of_norm(steps[2], steps[3]);
    first = 4;
  }
  for (const ChannelwiseStep& step : steps.subspan(first)) {
    if (step.moments) {
      moments = step.moments;
    } else if (moments) {
      for (std::size_t c = 0; c < step.factor.size(); ++c) {
        moments->mean[c] = moments->mean[c] * step.factor[c] + step.shift[c];
        moments->deviation[c] *= std::abs(step.factor[c]);
      }
    }
  }
  return moments;
}

// One fold after the other, in the order of the graph.
class Folding {
 public:
  Folding(Graph& graph, const FoldOptions& options) : graph_(&graph), options_(&options) {}

  Expected<void> fold(NodeId node) {
    const OrReason<LinearLayer> layer = find_layer(*graph_, node);
    if (!layer) {
      for (const Use& use : graph_->uses(node)) refuse(use.user, in_front(node, layer.error()));
      return {};
    }
    const Steps steps = steps_behind(*layer);
    if (steps.empty()) return {};
    return apply(*layer, steps);
  }

  FoldReport finish(std::span<const NodeId> order) && {
    for (const NodeId node : order) {
      if (!graph_->contains(node) || graph_->kind(node) != batch_normalization_kind) continue;
      report_.left.push_back({std::string(graph_->value_name({node})), reason_of(node)});
    }
    return std::move(report_);
  }

 private:
  void refuse(NodeId node, const std::string& reason) { reasons_.try_emplace(node, reason); }

  [[nodiscard]] std::string in_front(NodeId layer, const std::string& reason) const {
    return fmt::format("it stands behind '{}' ({}): {}", graph_->value_name({layer}),
                       graph_->kind(layer), reason);
  }

  [[nodiscard]] std::string reason_of(NodeId norm) const {
    const auto found = reasons_.find(norm);
    if (found != reasons_.end()) return found->second;
    const Value data = graph_->ref(norm).operand(0);
    if (data.is_absent()) return "it has no data";
    return in_front(data.node, "no layer that it could be folded into");
  }

  [[nodiscard]] Steps steps_behind(const LinearLayer& layer) {
    Steps steps;
    for (Value value = layer.result;;) {
      const OrReason<Use> use = only_use(*graph_, value);
      if (!use) {
        for (const Use& reader : graph_->uses(value.node)) refuse(reader.user, use.error());
        return steps;
      }
      OrReason<ChannelwiseStep> step = read_step(*graph_, layer, *use, !options_->fold_channelwise);
      if (!step) {
        refuse(use->user, step.error());
        return steps;
      }
      value = {step->node};
      steps.push_back(*std::move(step));
    }
  }

  Expected<void> apply(LinearLayer layer, const Steps& steps) {
    const auto channels = static_cast<std::size_t>(layer.layout.outputs());
    std::vector<double> factor(channels, 1);
    QUADRANT_TRY(std::vector<double> bias, read_bias(*graph_, layer));
    for (const ChannelwiseStep& step : steps) {
      for (std::size_t c = 0; c < channels; ++c) {
        factor[c] *= step.factor[c];
        bias[c] = bias[c] * step.factor[c] + step.shift[c];
      }
    }
    const Constant& before = weight_of(*graph_, layer);
    QUADRANT_TRY(std::vector<double> weight, read_reals(before));
    const auto run = static_cast<std::size_t>(layer.layout.run);
    layer.layout.for_each_row([&](std::size_t output, std::size_t, std::size_t row) {
      for (double& value : std::span(weight).subspan(row * run, run)) value *= factor[output];
    });
    if (!are_finite(layer.element, weight) || !are_finite(layer.element, bias)) {
      for (const ChannelwiseStep& step : steps) {
        refuse(step.node, fmt::format("the weights of '{}' would not be finite",
                                      graph_->value_name(layer.result)));
      }
      return {};
    }

    set_own_constant(*graph_, layer.node, layer.weight_operand,
                     rounded_constant(layer.element, before.shape(), weight));
    write_bias(*graph_, layer, bias);
    FoldReport::Fold fold;
    for (const ChannelwiseStep& step : steps) {
      fold.operations.emplace_back(graph_->value_name({step.node}));
      take_over(*graph_, {step.node}, layer.result);
    }
    fold.result = graph_->value_name(layer.result);
    std::optional<ChannelMoments> moments = moments_of(steps);
    fold.has_moments = moments.has_value();
    if (moments) report_.moments.insert_or_assign(fold.result, *std::move(moments));
    report_.folded.push_back(std::move(fold));
    return {};
  }

  Graph* graph_;
  const FoldOptions* options_;
  std::unordered_map<NodeId, std::string> reasons_;
  FoldReport report_;
};

}  // namespace

Expected<FoldReport> fold_batch_norm(Graph& graph, const FoldOptions& options) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  Folding folding(graph, options);
  for (const NodeId node : order) {
    // Additions that are the bias of a product go with it.
    if (graph.contains(node) && is_linear(graph.kind(node))) QUADRANT_CHECK(folding.fold(node));
  }
  return std::move(folding).finish(order);
}

}  // namespace quadrant::inline v0
