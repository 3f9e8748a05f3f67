#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "transforms/edits.hpp"
#include "transforms/layer_pairs.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::string_view no_moments =
    "no high biases to absorb: the model has no batch normalization whose beta and gamma are known "
    "(exporters often fold them into the convolutions). Take a model that still has its "
    "normalizations";

bool is_relu(const ChainLink& link) { return link.kind == ChainLink::Kind::relu; }

bool is_min(const Graph& graph, const ChainLink& link) {
  return link.kind == ChainLink::Kind::constant && graph.kind(link.node) == ops::Min::kind;
}

// Why a sum over the kernel is not the same at all positions.
OrReason<void> check_borders(const NodeRef& second) {
  if (second.kind() == ops::ConvTranspose::kind) {
    return because("not every element of a transposed convolution sums over the whole kernel");
  }
  if (second.kind() != ops::Conv::kind) return {};
  const auto pads = second.attribute_or("pads", std::vector<std::int64_t>{});
  const auto automatic = second.attribute_or<std::string>("auto_pad", "NOTSET");
  const std::span<const std::int64_t> kernel =
      second.operand_constant(1)->shape().known_extents().subspan(2);
  const bool is_point =
      std::ranges::all_of(kernel, [](std::int64_t extent) { return extent == 1; });
  const bool is_padded =
      automatic.starts_with("SAME")
          ? !is_point
          : automatic != "VALID" &&
                std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; });
  if (!is_padded) return {};
  return because(
      "it pads its input with zeros, so that the sum over its kernel is another at the "
      "borders");
}

// Between the two there may be a Relu, a Min with constants, and operations that change no element.
OrReason<void> check_links(const Graph& graph, const LayerChain& chain) {
  for (const ChainLink& link : chain.links) {
    const std::string_view kind = graph.kind(link.node);
    if (is_relu(link) || is_min(graph, link) || kind == ops::Dropout::kind ||
        has_trait(graph.ref(link.node), Trait::keeps_order)) {
      continue;
    }
    return because(
        fmt::format("'{}' ({}) lies between, where only a Relu, or a Min with constants, may",
                    label(graph, link.node), kind));
  }
  return {};
}

class Absorption {
 public:
  Absorption(Graph& graph, MomentsTable& moments, const AbsorptionOptions& options)
      : graph_(&graph), moments_(&moments), options_(&options) {}

  Expected<AbsorptionReport> run() {
    if (moments_->empty() && (!options_->minima || options_->minima->empty())) {
      report_.obstacle = no_moments;
      return std::move(report_);
    }
    QUADRANT_TRY(LayerPairs found, find_pairs(*graph_));
    for (const LeftAlone& left : found.left) {
      if (!known_minima(left.name).empty()) report_.left.push_back(left);
    }
    layers_ = std::move(found.layers);
    for (const LayerPair& pair : found.pairs) QUADRANT_CHECK(absorb(pair));
    return std::move(report_);
  }

 private:
  void leave(const LayerPair& pair, std::string reason) {
    report_.left.push_back({result_name(*graph_, layers_[pair.first]), std::move(reason)});
  }

  // One for each channel of the first layer; empty where nothing is known.
  [[nodiscard]] std::vector<double> known_minima(const std::string& name) const {
    if (options_->minima) {
      const auto found = options_->minima->find(name);
      if (found != options_->minima->end()) return found->second;
    }
    std::vector<double> minima;
    const auto found = moments_->find(name);
    if (found == moments_->end()) return minima;
    const auto& [mean, deviation] = found->second;
    for (std::size_t c = 0; c < std::min(mean.size(), deviation.size()); ++c) {
      minima.push_back(mean[c] - options_->deviations * deviation[c]);
    }
    return minima;
  }

  Expected<void> absorb(const LayerPair& pair) {
    const std::string name = result_name(*graph_, layers_[pair.first]);
    std::vector<double> absorbed = known_minima(name);
    if (absorbed.size() != static_cast<std::size_t>(layers_[pair.first].layout.outputs())) {
      leave(pair, absorbed.empty() ? "neither its moments nor its smallest values are known"
                                   : "what is known of it is of another number of channels");
      return {};
    }
    QUADRANT_CHECK(lower_to_bounds(pair, absorbed));
    for (double& value : absorbed) value = value > 0 && std::isfinite(value) ? value : 0;
    if (std::ranges::all_of(absorbed, [](double value) { return value == 0; })) return {};

    OrReason<void> legal = check_links(*graph_, pair.chain);
    const LinearLayer& second = layers_[pair.second];
    if (legal) legal = check_borders(graph_->ref(second.node));
    if (!legal) {
      leave(pair,
            fmt::format("'{}' cannot absorb it: {}", result_name(*graph_, second), legal.error()));
      return {};
    }
    return move_bias(pair, std::move(absorbed));
  }

  // What a Min lets through bounds what there is to absorb.
  Expected<void> lower_to_bounds(const LayerPair& pair, std::vector<double>& absorbed) const {
    for (const ChainLink& link : pair.chain.links) {
      if (!is_min(*graph_, link)) continue;
      QUADRANT_TRY(const std::vector<double> bounds, read_link(*graph_, layers_[pair.first], link));
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        double& value = absorbed[i / static_cast<std::size_t>(link.place.repeat)];
        value = std::min(value, bounds[i]);
      }
    }
    return {};
  }

  Expected<void> lower_bounds(const LayerPair& pair, std::span<const double> absorbed) {
    for (const ChainLink& link : pair.chain.links) {
      if (!is_min(*graph_, link)) continue;
      const LinearLayer& first = layers_[pair.first];
      QUADRANT_TRY(std::vector<double> bounds, read_link(*graph_, first, link));
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        bounds[i] -= absorbed[i / static_cast<std::size_t>(link.place.repeat)];
      }
      set_own_constant(*graph_, link.node, link.operand, link_constant(first, link.place, bounds));
    }
    return {};
  }

  Expected<void> move_bias(const LayerPair& pair, std::vector<double> absorbed) {
    LinearLayer& first = layers_[pair.first];
    LinearLayer& second = layers_[pair.second];
    QUADRANT_TRY(std::vector<double> lowered, read_bias(*graph_, first));
    for (std::size_t c = 0; c < absorbed.size(); ++c) lowered[c] -= absorbed[c];
    QUADRANT_TRY(std::vector<double> raised, read_bias(*graph_, second));
    QUADRANT_TRY(const std::vector<double> weight, read_reals(weight_of(*graph_, second)));
    const auto repeat = static_cast<std::size_t>(pair.chain.end.repeat);
    std::vector<double> inputs(static_cast<std::size_t>(second.layout.inputs()));
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = absorbed[i / repeat];
    const std::vector<double> sums = weighted_sums(second.layout, weight, inputs);
    for (std::size_t c = 0; c < sums.size(); ++c) raised[c] += second.alpha * sums[c];
    if (!are_finite(first.element, lowered) || !are_finite(second.element, raised)) {
      leave(pair, "biases would not be finite");
      return {};
    }
    QUADRANT_CHECK(lower_bounds(pair, absorbed));
    write_bias(*graph_, first, lowered);
    write_bias(*graph_, second, raised);

    const std::string name = result_name(*graph_, first);
    const auto moments = moments_->find(name);
    if (moments != moments_->end()) {
      std::vector<double>& mean = moments->second.mean;
      for (std::size_t c = 0; c < std::min(mean.size(), absorbed.size()); ++c) {
        mean[c] -= absorbed[c];
      }
    }
    const bool is_observed = options_->minima != nullptr && options_->minima->contains(name);
    report_.pairs.push_back(
        {.first = name,
         .second = result_name(*graph_, second),
         .absorbed = std::move(absorbed),
         .is_exact = is_observed || std::ranges::none_of(pair.chain.links, is_relu)});
    return {};
  }

  Graph* graph_;
  MomentsTable* moments_;
  const AbsorptionOptions* options_;
  std::vector<LinearLayer> layers_;
  AbsorptionReport report_;
};

}  // namespace

Expected<AbsorptionReport> absorb_high_biases(Graph& graph, MomentsTable& moments,
                                              const AbsorptionOptions& options) {
  if (!(options.deviations >= 0)) {
    return fail(ErrorCode::usage,
                fmt::format("{} deviations below the mean: choose 0 or more", options.deviations));
  }
  return Absorption(graph, moments, options).run();
}

}  // namespace quadrant::inline v0
