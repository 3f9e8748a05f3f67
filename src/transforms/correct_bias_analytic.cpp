#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "numerics/reals.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "transforms/channel_means.hpp"
#include "transforms/linear_layer.hpp"

namespace quadrant::inline v0 {

namespace {

// W' - W; empty where the weight is not quantized.
Expected<std::vector<double>> weight_error(const Graph& graph, const LinearLayer& layer,
                                           QuantizedWeight quantized) {
  const Value weight = graph.operands(layer.node)[layer.weight_operand];
  QUADRANT_TRY(const Constant rounded, quantized(weight));
  if (!rounded) return std::vector<double>{};
  const Constant& exact = weight_of(graph, layer);
  if (rounded.shape() != exact.shape() || !is_wide_float(rounded.element())) {
    return fail(
        ErrorCode::usage,
        fmt::format("quantized weights of type {} and shape [{}] were given, where f32 or "
                    "f64 and [{}] are wanted",
                    to_string(rounded.element()), to_string(rounded.shape()),
                    to_string(exact.shape())),
        {.file = {}, .node = {}, .tensor = std::string(graph.value_name(weight)), .offset = {}});
  }
  QUADRANT_TRY(std::vector<double> error, read_reals(rounded));
  QUADRANT_TRY(const std::vector<double> values, read_reals(exact));
  for (std::size_t i = 0; i < error.size(); ++i) error[i] -= values[i];
  return error;
}

class Correction {
 public:
  Correction(Graph& graph, const MomentsTable& moments, QuantizedWeight quantized)
      : graph_(&graph), moments_(&moments), quantized_(quantized) {}

  Expected<BiasCorrectionReport> run() {
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(*graph_));
    for (const NodeId node : order) {
      if (!is_linear(graph_->kind(node))) continue;
      const OrReason<LinearLayer> layer = find_layer(*graph_, node);
      if (layer) {
        layers_.push_back(*layer);
      } else {
        report_.left.push_back({std::string(graph_->value_name({node})), layer.error()});
      }
    }
    distributions_ = find_distributions(*graph_, order, layers_, *moments_);
    for (std::size_t i = 0; i < layers_.size(); ++i) QUADRANT_CHECK(prepare(i));
    for (auto& [layer, bias] : biases_) write_bias(*graph_, layers_[layer], bias);
    return std::move(report_);
  }

 private:
  Expected<void> prepare(std::size_t i) {
    const LinearLayer& layer = layers_[i];
    const std::string name(graph_->value_name(layer.result));
    QUADRANT_TRY(const std::vector<double> error, weight_error(*graph_, layer, quantized_));
    if (error.empty()) return {};
    const std::optional<std::vector<double>> means = input_means(layer);
    if (!means) {
      const Value data = graph_->ref(layer.node).operand(0);
      report_.left.push_back(
          {name, fmt::format("the mean of its input '{}' does not follow from known moments",
                             data.is_absent() ? "" : graph_->value_name(data))});
      return {};
    }
    std::vector<double> shift = weighted_sums(layer.layout, error, *means);
    for (double& value : shift) value *= layer.alpha;
    QUADRANT_TRY(std::vector<double> bias, read_bias(*graph_, layer));
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] -= shift[c];
    if (!are_finite(layer.element, bias)) {
      report_.left.push_back({name, "its bias would not be finite"});
      return {};
    }
    biases_.emplace_back(i, std::move(bias));
    report_.corrected.push_back({name, std::move(shift)});
    return {};
  }

  // One for each input channel.
  [[nodiscard]] std::optional<std::vector<double>> input_means(const LinearLayer& layer) const {
    const auto found = distributions_.find(graph_->ref(layer.node).operand(0));
    if (found == distributions_.end() || found->second.axis != layer.data_axis) return std::nullopt;
    const std::vector<double> means = found->second.means();
    const auto inputs = static_cast<std::size_t>(layer.layout.inputs());
    // Flattened channels are runs of elements.
    if (inputs % means.size() != 0 || (inputs != means.size() && found->second.rank != 2)) {
      return std::nullopt;
    }
    std::vector<double> result(inputs);
    for (std::size_t i = 0; i < inputs; ++i) result[i] = means[i / (inputs / means.size())];
    return result;
  }

  Graph* graph_;
  const MomentsTable* moments_;
  QuantizedWeight quantized_;
  std::vector<LinearLayer> layers_;
  std::unordered_map<Value, ChannelDistribution> distributions_;
  std::vector<std::pair<std::size_t, std::vector<double>>> biases_;  ///< by layer
  BiasCorrectionReport report_;
};

}  // namespace

Expected<BiasCorrectionReport> correct_bias_analytic(Graph& graph, const MomentsTable& moments,
                                                     QuantizedWeight quantized) {
  return Correction(graph, moments, quantized).run();
}

}  // namespace quadrant::inline v0
