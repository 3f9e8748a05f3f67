#include "quadrant/transforms/equalize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "ir/opset.hpp"
#include "numerics/reals.hpp"
#include "transforms/edits.hpp"
#include "transforms/layer_pairs.hpp"
#include "transforms/range_balance.hpp"

namespace quadrant::inline v0 {

namespace {

Expected<void> check_options(const EqualizationOptions& options) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::usage, std::move(message));
  };
  if (!(options.tolerance >= 0)) {
    return refuse(fmt::format("a tolerance of {}: choose 0 or more", options.tolerance));
  }
  if (options.max_rounds == 0) return refuse("no rounds at all: choose 1 or more");
  if (!(options.largest_scale >= 1) || !std::isfinite(options.largest_scale)) {
    return refuse(fmt::format("a largest scale of {}: choose 1 or more", options.largest_scale));
  }
  return {};
}

// The largest magnitude of each row of the weights; empty where some are not finite.
Expected<std::vector<double>> read_magnitudes(const Graph& graph, const LinearLayer& layer) {
  QUADRANT_TRY(const std::vector<double> weight, read_reals(weight_of(graph, layer)));
  if (!are_finite(ElementType::float64, weight)) return std::vector<double>{};
  const auto run = static_cast<std::size_t>(layer.layout.run);
  std::vector<double> magnitudes(weight.size() / run);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    magnitudes[i / run] = std::max(magnitudes[i / run], std::abs(weight[i]));
  }
  return magnitudes;
}

// New contents of a constant operand.
struct ConstantEdit {
  NodeId node;
  std::uint32_t operand = 0;
  Constant constant;
};

class Equalization {
 public:
  Equalization(Graph& graph, MomentsTable& moments, const EqualizationOptions& options)
      : graph_(&graph), moments_(&moments), options_(&options) {}

  Expected<EqualizationReport> run() {
    QUADRANT_TRY(LayerPairs found, find_pairs(*graph_));
    layers_ = std::move(found.layers);
    report_.left = std::move(found.left);
    QUADRANT_CHECK(read_layers(found.pairs));
    QUADRANT_CHECK(add_pairs(std::move(found.pairs)));
    run_rounds();
    // All that can fail comes before the first change of the graph.
    QUADRANT_CHECK(prepare_edits());
    apply();
    return std::move(report_);
  }

 private:
  // Of those that are part of a pair.
  Expected<void> read_layers(const std::vector<LayerPair>& pairs) {
    std::vector<bool> is_used(layers_.size());
    for (const LayerPair& pair : pairs) is_used[pair.first] = is_used[pair.second] = true;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      std::vector<double> magnitudes;
      if (is_used[i]) {
        QUADRANT_TRY(magnitudes, read_magnitudes(*graph_, layers_[i]));
      }
      is_finite_.push_back(!magnitudes.empty());
      // Rows that are not there are not asked for either: no pair has them.
      balance_.add_layer(layers_[i].layout, std::move(magnitudes));
    }
    return {};
  }

  Expected<void> add_pairs(std::vector<LayerPair> pairs) {
    for (LayerPair& pair : pairs) {
      OrReason<void> legal = check_values(pair);
      std::vector<double> lowest;
      if (legal) {
        QUADRANT_TRY(lowest, lowest_scales(pair));
        if (!are_finite(ElementType::float64, lowest)) {
          legal = because("its bias is not finite");
        }
      }
      if (!legal) {
        report_.left.push_back({result_name(*graph_, layers_[pair.first]), legal.error()});
        continue;
      }
      balance_.add_pair(pair.first, pair.second, pair.chain.end.repeat, std::move(lowest),
                        options_->largest_scale);
      pairs_.push_back(std::move(pair));
    }
    return {};
  }

  [[nodiscard]] OrReason<void> check_values(const LayerPair& pair) const {
    for (const std::size_t i : {pair.first, pair.second}) {
      if (!is_finite_[i]) {
        return because(
            fmt::format("the weights of '{}' are not finite", result_name(*graph_, layers_[i])));
      }
    }
    const auto is_clip = [](const ChainLink& link) { return link.kind == ChainLink::Kind::clip; };
    const auto clip = std::ranges::find_if(pair.chain.links, is_clip);
    if (clip == pair.chain.links.end()) return {};
    const std::string_view name = graph_->value_name({clip->node});
    if (options_->clip == ClipTreatment::leave) {
      return because(fmt::format("'{}' clips, and was to be left", name));
    }
    // Before, all operands of Min had one shape.
    if (options_->clip == ClipTreatment::per_channel && opset_version(*graph_) < 8) {
      return because(fmt::format(
          "'{}' clips, and has no form per channel before opset 8: convert the model", name));
    }
    return {};
  }

  // The least s that leave biases, and constants in between, finite.
  [[nodiscard]] Expected<std::vector<double>> lowest_scales(const LayerPair& pair) const {
    const LinearLayer& layer = layers_[pair.first];
    const double largest = std::numeric_limits<float>::max() / 2;
    QUADRANT_TRY(std::vector<double> lowest, read_bias(*graph_, layer));
    for (double& value : lowest) value = std::abs(value) / largest;
    for (const ChainLink& link : pair.chain.links) {
      if (link.kind != ChainLink::Kind::constant) continue;
      QUADRANT_TRY(const std::vector<double> values, read_link(*graph_, layer, link));
      for (std::size_t i = 0; i < values.size(); ++i) {
        double& bound = lowest[i / static_cast<std::size_t>(link.place.repeat)];
        bound = std::max(bound, std::abs(values[i]) / largest);
      }
    }
    for (double& value : lowest) {
      if (!std::isfinite(value)) continue;
      value = std::clamp(value, 1 / options_->largest_scale, 1.0);
    }
    return lowest;
  }

  void run_rounds() {
    if (pairs_.empty()) return;
    do {
      report_.last_change = balance_.run_round();
      ++report_.rounds;
    } while (report_.last_change > options_->tolerance && report_.rounds < options_->max_rounds);
    report_.converged = report_.last_change <= options_->tolerance;
  }

  // --- edits
  // --------------------------------------------------------------------------------------

  Expected<void> prepare_edits() {
    std::vector<bool> is_scaled(layers_.size());
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      if (is_one(balance_.scales(p))) continue;
      is_scaled[pairs_[p].first] = is_scaled[pairs_[p].second] = true;
      QUADRANT_CHECK(prepare_bias(p));
      for (const ChainLink& link : pairs_[p].chain.links) QUADRANT_CHECK(prepare_link(p, link));
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (is_scaled[i]) QUADRANT_CHECK(prepare_weight(i));
    }
    return {};
  }

  static bool is_one(const std::vector<double>& scales) {
    return std::ranges::all_of(scales, [](double scale) { return scale == 1; });
  }

  Expected<void> prepare_weight(std::size_t i) {
    const LinearLayer& layer = layers_[i];
    const Constant& before = weight_of(*graph_, layer);
    QUADRANT_TRY(std::vector<double> weight, read_reals(before));
    const auto run = static_cast<std::size_t>(layer.layout.run);
    const RangeBalance::Factors factors = balance_.factors(i);
    layer.layout.for_each_row([&](std::size_t output, std::size_t input, std::size_t row) {
      const double factor = factors.of_output[output] * factors.of_input[input];
      for (double& value : std::span(weight).subspan(row * run, run)) value *= factor;
    });
    edits_.push_back({layer.node, layer.weight_operand,
                      rounded_constant(layer.element, before.shape(), weight)});
    return {};
  }

  Expected<void> prepare_bias(std::size_t p) {
    const LinearLayer& layer = layers_[pairs_[p].first];
    QUADRANT_TRY(std::vector<double> bias, read_bias(*graph_, layer));
    const std::vector<double>& scales = balance_.scales(p);
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] /= scales[c];
    biases_.emplace_back(pairs_[p].first, std::move(bias));
    return {};
  }

  Expected<void> prepare_link(std::size_t p, const ChainLink& link) {
    if (link.kind != ChainLink::Kind::constant) return {};
    QUADRANT_TRY(std::vector<double> values, read_link(*graph_, layers_[pairs_[p].first], link));
    edits_.push_back({link.node, link.operand, divided(std::move(values), p, link.place)});
    return {};
  }

  // `values` over s, as a constant that broadcasts at `place`.
  [[nodiscard]] Constant divided(std::vector<double> values, std::size_t p,
                                 const ChannelPlace& place) const {
    const std::vector<double>& scales = balance_.scales(p);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] /= scales[i / static_cast<std::size_t>(place.repeat)];
    }
    return link_constant(layers_[pairs_[p].first], place, values);
  }

  void apply() {
    for (ConstantEdit& edit : edits_) {
      set_own_constant(*graph_, edit.node, edit.operand, std::move(edit.constant));
    }
    for (auto& [layer, bias] : biases_) write_bias(*graph_, layers_[layer], bias);
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      for (const ChainLink& link : pairs_[p].chain.links) {
        if (link.kind == ChainLink::Kind::clip) replace_clip(p, link);
      }
      divide_moments(p);
      report_.pairs.push_back({result_name(*graph_, layers_[pairs_[p].first]),
                               result_name(*graph_, layers_[pairs_[p].second]),
                               balance_.scales(p)});
    }
  }

  void replace_clip(std::size_t p, const ChainLink& link) {
    const bool is_dropped = options_->clip == ClipTreatment::as_relu;
    if (!is_dropped && is_one(balance_.scales(p))) return;
    const Value clip{link.node};
    std::string name(graph_->value_name(clip));
    const Value relu = add_operation(ops::Relu::kind, name + "_relu",
                                     {graph_->operands(link.node)[0]}, graph_->type(clip));
    if (is_dropped) {
      take_over(*graph_, clip, relu);
      report_.clips_dropped.push_back(std::move(name));
      return;
    }
    const auto count = balance_.scales(p).size() * static_cast<std::size_t>(link.place.repeat);
    const Value bound = graph_->add_constant(
        name + "_bound", divided(std::vector<double>(count, link.high), p, link.place));
    take_over(*graph_, clip,
              add_operation(ops::Min::kind, name + "_min", {relu, bound}, graph_->type(clip)));
    report_.clips_per_channel.push_back(std::move(name));
  }

  Value add_operation(std::string_view kind, std::string name, std::vector<Value> operands,
                      TensorType type) {
    return {graph_->add({.kind = std::string(kind),
                         .name = name,
                         .operands = std::move(operands),
                         .results = {{std::move(name), std::move(type)}}})};
  }

  void divide_moments(std::size_t p) {
    const auto found = moments_->find(graph_->value_name(layers_[pairs_[p].first].result));
    if (found == moments_->end()) return;
    const std::vector<double>& scales = balance_.scales(p);
    auto& [mean, deviation] = found->second;
    for (std::size_t c = 0; c < std::min(mean.size(), scales.size()); ++c) mean[c] /= scales[c];
    for (std::size_t c = 0; c < std::min(deviation.size(), scales.size()); ++c) {
      deviation[c] /= scales[c];
    }
  }

  Graph* graph_;
  MomentsTable* moments_;
  const EqualizationOptions* options_;
  std::vector<LinearLayer> layers_;
  std::vector<bool> is_finite_;
  std::vector<LayerPair> pairs_;
  RangeBalance balance_;
  std::vector<ConstantEdit> edits_;
  std::vector<std::pair<std::size_t, std::vector<double>>> biases_;  ///< by layer
  EqualizationReport report_;
};

}  // namespace

Expected<EqualizationReport> equalize(Graph& graph, MomentsTable& moments,
                                      const EqualizationOptions& options) {
  QUADRANT_CHECK(check_options(options));
  return Equalization(graph, moments, options).run();
}

}  // namespace quadrant::inline v0
