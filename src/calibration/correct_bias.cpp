#include "quadrant/calibration/correct_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "calibration/bias_layers.hpp"
#include "ir/scales.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {
namespace {

std::vector<double> channel_means(const StatisticsTable& table, std::string_view name) {
  const TensorStatistics* const found = table.find(name);
  std::vector<double> means;
  if (found == nullptr || !found->by_channel) return means;
  for (const ChannelStatistics& channel : found->by_channel->channels) {
    means.push_back(channel.mean());
  }
  return means;
}

using TypePtr = std::shared_ptr<const UniformType>;

struct Parameters {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;

  [[nodiscard]] double scale(std::size_t i) const {
    return static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
  }
  [[nodiscard]] std::int64_t zero_point(std::size_t i) const {
    return zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : i];
  }
};

Expected<Parameters> parameters_of(const UniformType& type) {
  Parameters found;
  QUADRANT_TRY(found.scales, read_scales(type.scales));
  if (type.zero_points) {
    QUADRANT_TRY(found.zero_points, read_integers(type.zero_points));
  }
  return found;
}

// The same, unless values lie beyond its codes and it has one scale that is its own: not that of
// the sums, which have 32 bits.
Expected<TypePtr> type_for(const std::vector<double>& values, const TypePtr& type) {
  QUADRANT_TRY(const Parameters old, parameters_of(*type));
  const auto [low, high] = std::ranges::minmax_element(values);
  const bool is_own =
      type->granularity.kind == Granularity::Kind::tensor && type->storage != ElementType::int32;
  if (!is_own || values.empty()) return type;
  const auto end = [&](std::int64_t code) {
    return old.scale(0) * static_cast<double>(code - old.zero_point(0));
  };
  const double half = old.scale(0) / 2;
  if (*low >= end(type->storage_min) - half && *high <= end(type->storage_max) + half) return type;
  EncodingRule rule;
  rule.bits = bit_width(type->storage);
  QUADRANT_TRY(const Encoding encoding, find_encoding(*low, *high, rule));
  const auto sign = type->storage_min < 0 ? CodeSign::signed_codes : CodeSign::unsigned_codes;
  QUADRANT_TRY(UniformType made, uniform_type(std::span(&encoding, 1), Shape::scalar(),
                                              Granularity::per_tensor(), sign));
  made.expressed = type->expressed;
  return std::make_shared<const UniformType>(std::move(made));
}

class Correction {
 public:
  Correction(Graph& quantized, const Graph& real, const Runtime& runtime, const DataSet& data,
             const CorrectBiasOptions& options)
      : quantized_(quantized), real_(real), runtime_(runtime), data_(data), options_(options) {}

  Expected<CorrectBiasReport> run() {
    QUADRANT_CHECK(find_layers());
    if (layers_.empty()) return std::move(report_);
    QUADRANT_TRY(const StatisticsTable wanted, means_of(real_, layers_, &BiasLayer::node));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const BiasLayer& layer = layers_[i];
      Graph spelled_out = quantized_;
      make_borders_real(spelled_out);  // the samples are
      make_quantization_explicit(spelled_out);
      QUADRANT_TRY(const StatisticsTable found,
                   means_of(spelled_out, {layer}, &BiasLayer::corrected));
      QUADRANT_CHECK(correct(layer, channel_means(found, name_in(spelled_out, layer.corrected)),
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
      if (!real_.contains(id)) continue;
      const auto layer = bias_layer(quantized_, id);
      if (!layer) continue;
      if (layer->node.is_valid() && real_.contains(layer->node)) {
        layers_.push_back(*layer);
      } else {
        leave(id, "it has no constant bias of its own");
      }
    }
    return {};
  }

  [[nodiscard]] Expected<StatisticsTable> means_of(const Graph& graph,
                                                   const std::vector<BiasLayer>& layers,
                                                   NodeId BiasLayer::* node) const {
    CalibrateOptions options{
        .values = {}, .histograms = false, .executor = options_.executor, .sink = nullptr};
    for (const BiasLayer& layer : layers) {
      options.values.push_back({Value{layer.*node}, layer.channel_axis});
    }
    return calibrate(graph, runtime_, data_, options);
  }

  Expected<void> correct(const BiasLayer& layer, const std::vector<double>& found,
                         const std::vector<double>& wanted) {
    const std::string name(name_in(real_, layer.node));
    const auto count = static_cast<std::size_t>(quantized_.constant(layer.bias)->element_count());
    // Where channels are not the bias's elements, or vary with the sample, there is no mean.
    if (found.size() != count || wanted.size() != count) {
      leave(layer.node, "its channels are not those of its bias in each sample");
      return {};
    }
    CorrectedBias corrected{name, {}};
    for (std::size_t i = 0; i < count; ++i) corrected.shift.push_back(found[i] - wanted[i]);
    QUADRANT_CHECK(take_off(layer.bias, corrected.shift));
    report_.corrected.push_back(std::move(corrected));
    return {};
  }

  void leave(NodeId node, std::string reason) {
    report_.left.push_back({std::string(name_in(real_, node)), std::move(reason)});
  }

  Expected<void> take_off(NodeId bias, const std::vector<double>& shift) {
    const auto type = quantized_.type({bias}).uniform();
    const Constant& contents = *quantized_.constant(bias);
    if (type == nullptr) {
      QUADRANT_TRY(const ConstantBytes bytes, contents.read());
      const auto read = bytes.as<float>();
      std::vector<float> values(read.begin(), read.end());
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(static_cast<double>(values[i]) - shift[i]);
      }
      quantized_.set_constant(
          bias, Constant::from_values<float>(ElementType::float32, contents.shape(), values));
      return {};
    }
    QUADRANT_TRY(std::vector<std::int64_t> codes,
                 read_integers(contents, contents.element_count()));
    std::vector<double> values(codes.size());
    Parameters parameters;
    QUADRANT_TRY(parameters, parameters_of(*type));
    for (std::size_t i = 0; i < codes.size(); ++i) {
      values[i] =
          parameters.scale(i) * static_cast<double>(codes[i] - parameters.zero_point(i)) - shift[i];
    }
    QUADRANT_TRY(const TypePtr fitting, type_for(values, type));
    QUADRANT_TRY(parameters, parameters_of(*fitting));
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double code = std::nearbyint(values[i] / parameters.scale(i)) +
                          static_cast<double>(parameters.zero_point(i));
      codes[i] =
          static_cast<std::int64_t>(std::clamp(code, static_cast<double>(fitting->storage_min),
                                               static_cast<double>(fitting->storage_max)));
    }
    quantized_.set_constant(bias, make_zero_points(type->storage, contents.shape(), codes),
                            fitting);
    return {};
  }

  Graph& quantized_;
  const Graph& real_;
  const Runtime& runtime_;
  const DataSet& data_;
  const CorrectBiasOptions& options_;
  std::vector<BiasLayer> layers_;
  CorrectBiasReport report_;
};

}  // namespace

Expected<CorrectBiasReport> correct_bias(Graph& quantized, const Graph& real,
                                         const Runtime& runtime, const DataSet& data,
                                         const CorrectBiasOptions& options) {
  return Correction(quantized, real, runtime, data, options).run();
}

}  // namespace quadrant::inline v0
