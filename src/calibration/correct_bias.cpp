#include "quadrant/calibration/correct_bias.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/real_borders.hpp"
#include "quadrant/ir/scales.hpp"
#include "quadrant/ir/topology.hpp"
#include "quadrant/numerics/find_encoding.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::uint32_t no_operand = 0xFFFFFFFF;

struct LayerKind {
  std::string_view kind;
  std::int64_t channel_axis;  // of the result; counted from the end where negative
  std::uint32_t data = 0;
  std::uint32_t bias = 2;
};

constexpr std::array layer_kinds{LayerKind{ops::Conv::kind, 1},
                                 LayerKind{ops::ConvTranspose::kind, 1},
                                 LayerKind{ops::Gemm::kind, -1},
                                 LayerKind{ops::Linear::kind, -1},
                                 LayerKind{ops::Addmm::kind, -1, 1, 0},
                                 LayerKind{ops::MatMul::kind, -1, 0, no_operand},
                                 LayerKind{ops::BatchMatMul::kind, -1, 0, no_operand}};

struct CorrectedLayer {
  NodeId node;  // of which the results are compared: it adds the bias
  NodeId bias;  // a constant, of codes or of float32
  std::int64_t channel_axis = 0;
};

bool computes_on_codes(NodeRef node, const LayerKind& kind) {
  const TensorType* const data = node.operand_type(kind.data);
  return data != nullptr && data->is_quantized() && node.type().is_quantized();
}

bool can_be_corrected(NodeRef node, std::uint32_t operand) {
  const Constant* const bias = node.operand_constant(operand);
  return bias != nullptr && node.graph->uses(node.operand(operand).node).size() == 1 &&
         (node.operand_type(operand)->is_quantized() || bias->element() == ElementType::float32);
}

// The addition of one constant a channel that alone reads the result. Not valid: there is none.
CorrectedLayer addition_behind(const Graph& graph, NodeId node) {
  for (auto uses = graph.uses(node); uses.size() == 1; uses = graph.uses(node)) {
    const NodeRef user = graph.ref(uses[0].user);
    node = user.id;
    if (user.kind() == ops::Dequantize::kind) continue;
    const std::uint32_t other = 1 - uses[0].operand;
    if (user.kind() != ops::Add::kind || !can_be_corrected(user, other)) return {};
    const Constant& bias = *user.operand_constant(other);
    const Shape& shape = user.type().shape;
    const auto last = [](const Shape& of) { return of.rank() > 0 ? of[of.rank() - 1] : -1; };
    const bool is_by_channel = shape.is_ranked() && last(bias.shape()) == bias.element_count() &&
                               last(shape) == bias.element_count();
    if (!is_by_channel) return {};
    return {.node = user.id, .bias = user.operand(other).node, .channel_axis = -1};
  }
  return {};
}

CorrectedLayer layer_of(NodeRef node, const Graph& graph, const LayerKind& kind) {
  if (kind.bias == no_operand) return addition_behind(graph, node.id);
  if (!can_be_corrected(node, kind.bias)) return {};
  return {node.id, node.operand(kind.bias).node, kind.channel_axis};
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
    QUADRANT_TRY(const StatisticsTable wanted, means_of(real_, layers_));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const CorrectedLayer& layer = layers_[i];
      Graph spelled_out = quantized_;
      make_borders_real(spelled_out);  // the samples are
      make_quantization_explicit(spelled_out);
      QUADRANT_TRY(const StatisticsTable found, means_of(spelled_out, {layer}));
      QUADRANT_CHECK(correct(layer, channel_means(found, name_in(spelled_out, layer.node)),
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
      if (kind == layer_kinds.end() || !computes_on_codes(node, *kind) || !real_.contains(id)) {
        continue;
      }
      const CorrectedLayer layer = layer_of(node, quantized_, *kind);
      if (layer.node.is_valid() && real_.contains(layer.node)) {
        layers_.push_back(layer);
      } else {
        leave(id, "it has no constant bias of its own");
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

  Expected<void> correct(const CorrectedLayer& layer, const std::vector<double>& found,
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
    const auto type = quantized_.type({bias}).quantization;
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
