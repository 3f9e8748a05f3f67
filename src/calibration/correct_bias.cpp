#include "quadrant/calibration/correct_bias.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"
#include "quadrant/ir/topology.hpp"

namespace quadrant::inline v0 {
namespace {

struct LayerKind {
  std::string_view kind;
  std::int64_t channel_axis;  // of the result; counted from the end where negative
};

constexpr std::array layer_kinds{LayerKind{ops::Conv::kind, 1},
                                 LayerKind{ops::ConvTranspose::kind, 1},
                                 LayerKind{ops::Gemm::kind, -1}, LayerKind{ops::Linear::kind, -1}};
constexpr std::size_t bias_operand = 2;

struct CorrectedLayer {
  NodeId node;
  std::int64_t channel_axis = 0;
};

bool computes_on_codes(NodeRef node) {
  const TensorType* const data = node.operand_type(0);
  return data != nullptr && data->is_quantized() && node.type().is_quantized();
}

bool has_coded_bias(NodeRef node) {
  const TensorType* const bias = node.operand_type(bias_operand);
  return bias != nullptr && bias->is_quantized() && node.operand_constant(bias_operand) != nullptr;
}

std::vector<double> channel_means(const StatisticsTable& table, std::string_view name) {
  const TensorStatistics* const found = table.find(name);
  std::vector<double> means;
  if (found == nullptr || !found->by_channel) return means;
  for (const ChannelStatistics& channel : found->by_channel->channels) {
    means.push_back(channel.mean());
  }
  return means;
}

class Correction {
 public:
  Correction(Graph& quantized, const Graph& real, const Runtime& runtime, const DataSet& data,
             const CorrectBiasOptions& options)
      : quantized_(quantized), real_(real), runtime_(runtime), data_(data), options_(options) {}

  Expected<CorrectBiasReport> run() {
    QUADRANT_CHECK(find_layers());
    if (layers_.empty()) return std::move(report_);
    QUADRANT_TRY(const StatisticsTable wanted, means_of(real_, layers_));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const CorrectedLayer& layer = layers_[i];
      Graph spelled_out = quantized_;
      make_quantization_explicit(spelled_out);
      QUADRANT_TRY(const StatisticsTable found, means_of(spelled_out, {layer}));
      QUADRANT_CHECK(correct(layer.node, channel_means(found, name_in(spelled_out, layer.node)),
                             channel_means(wanted, name_in(real_, layer.node))));
      if (options_.sink != nullptr) {
        options_.sink->progress("correcting biases", i + 1, layers_.size());
      }
    }
    return std::move(report_);
  }

 private:
  static std::string_view name_in(const Graph& graph, NodeId node) {
    return graph.value_name({node});
  }

  Expected<void> find_layers() {
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(quantized_));
    for (const NodeId id : order) {
      const NodeRef node = quantized_.ref(id);
      const auto* const kind = std::ranges::find(layer_kinds, node.kind(), &LayerKind::kind);
      if (kind == layer_kinds.end() || !computes_on_codes(node) || !real_.contains(id)) continue;
      if (has_coded_bias(node)) {
        layers_.push_back({id, kind->channel_axis});
      } else {
        report_.left.emplace_back(name_in(real_, id));
      }
    }
    return {};
  }

  [[nodiscard]] Expected<StatisticsTable> means_of(
      const Graph& graph, const std::vector<CorrectedLayer>& layers) const {
    CalibrateOptions options{.values = {}, .executor = options_.executor, .sink = nullptr};
    for (const CorrectedLayer& layer : layers) {
      options.values.push_back({Value{layer.node}, layer.channel_axis});
    }
    return calibrate(graph, runtime_, data_, options);
  }

  Expected<void> correct(NodeId node, const std::vector<double>& found,
                         const std::vector<double>& wanted) {
    const NodeId bias = quantized_.ref(node).operand(bias_operand).node;
    const auto type = quantized_.type({bias}).quantization;
    const Constant& contents = *quantized_.constant(bias);
    QUADRANT_TRY(std::vector<std::int64_t> codes,
                 read_integers(contents, contents.element_count()));
    QUADRANT_TRY(const std::vector<float> scales, read_scales(type->scales));
    const std::string name(name_in(real_, node));
    // Where channels are not the bias's elements, or vary with the sample, there is no mean.
    if (found.size() != codes.size() || wanted.size() != codes.size()) {
      report_.left.push_back(name);
      return {};
    }
    CorrectedBias corrected{name, {}};
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double shift = found[i] - wanted[i];
      const auto scale = static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
      const double code = static_cast<double>(codes[i]) - std::nearbyint(shift / scale);
      codes[i] = static_cast<std::int64_t>(std::clamp(code, static_cast<double>(type->storage_min),
                                                      static_cast<double>(type->storage_max)));
      corrected.shift.push_back(shift);
    }
    quantized_.set_constant(bias, make_zero_points(type->storage, contents.shape(), codes), type);
    report_.corrected.push_back(std::move(corrected));
    return {};
  }

  Graph& quantized_;
  const Graph& real_;
  const Runtime& runtime_;
  const DataSet& data_;
  const CorrectBiasOptions& options_;
  std::vector<CorrectedLayer> layers_;
  CorrectBiasReport report_;
};

}  // namespace

Expected<CorrectBiasReport> correct_bias(Graph& quantized, const Graph& real,
                                         const Runtime& runtime, const DataSet& data,
                                         const CorrectBiasOptions& options) {
  return Correction(quantized, real, runtime, data, options).run();
}

}  // namespace quadrant::inline v0
