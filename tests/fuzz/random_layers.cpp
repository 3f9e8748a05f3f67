#include "random_layers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "settle.hpp"

namespace fuzz {
namespace {

using namespace quadrant;

using Extents = std::vector<std::int64_t>;

constexpr auto activations = std::to_array<std::string_view>(
    {"onnx.Relu", "onnx.Relu", "onnx.Sigmoid", "onnx.Tanh", "onnx.LeakyRelu", "onnx.HardSwish",
     "onnx.Softmax", "onnx.Gelu", "onnx.Elu", "onnx.Abs", "onnx.Neg", "onnx.Erf",
     ops::Identity::kind, "onnx.Dropout", "onnx.Mish", "onnx.Softplus"});
constexpr auto channelwise =
    std::to_array<std::string_view>({ops::Add::kind, ops::Multiply::kind, "onnx.Sub", "onnx.Div",
                                     "onnx.Min", "onnx.Max", "onnx.PRelu"});
constexpr auto pools = std::to_array<std::string_view>(
    {"onnx.MaxPool", "onnx.AveragePool", "onnx.GlobalAveragePool", "onnx.GlobalMaxPool"});
constexpr auto reductions = std::to_array<std::string_view>(
    {"onnx.ReduceMean", "onnx.ReduceSum", "onnx.ReduceMax", "onnx.ReduceMin", "onnx.ReduceL2"});

class Layers {
 public:
  Layers(Graph& graph, RandomValues& random, Value data)
      : graph_(graph), random_(random), data_(data), type_(graph.type(data)) {}

  std::vector<Value> add() {
    switch (random_.number(0, 14)) {
      case 0:
        return convolution(ops::Conv::kind);
      case 1:
        return convolution(ops::ConvTranspose::kind);
      case 2:
        return product();
      case 3:
        return normalization();
      case 4:
        return node(random_.pick(channelwise), {data_, channel_constant()});
      case 5:
        return node(random_.pick(activations), {data_});
      case 6:
        return clip();
      case 7:
        return simulated_quantization();
      case 8:
        return casts();
      case 9:
        return pool();
      case 10:
        return move();
      case 11:
        return reduction();
      case 12:
        return recurrent();
      case 13:
        return lookup();
      default:
        return instrumentation();
    }
  }

 private:
  [[nodiscard]] std::int64_t rank() const { return type_.shape.rank(); }
  /// 1 where it is open, of no use, or there is no such axis.
  [[nodiscard]] std::int64_t extent(std::int64_t axis) const {
    if (axis < 0 || axis >= rank()) return 1;
    const std::int64_t known = type_.shape[axis].value_or(1);
    return known > 0 && known <= most_elements ? known : 1;
  }
  Value reals(Extents extents, bool positive = false) {
    const Constant made = random_.reals(type_.element, Shape(std::move(extents)), positive);
    return made ? graph_.add_constant(random_.one_in(4) ? random_.name() : "", made) : Value{};
  }
  Value scalar(double value) {
    const auto number = static_cast<float>(value);
    return graph_.add_constant(
        "", Constant::from_values<float>(ElementType::float32, Shape::scalar(), {&number, 1}));
  }
  Value list(const Extents& values) { return graph_.add_constant("", random_.list(values)); }

  std::vector<Value> node(std::string_view kind, std::vector<Value> operands,
                          Attributes attributes = {}, std::uint32_t results = 1,
                          TensorType type = {}) {
    NodeSpec spec;
    spec.kind = kind;
    if (random_.one_in(4)) spec.name = random_.name();
    spec.operands = std::move(operands);
    spec.attributes = std::move(attributes);
    spec.results.resize(results);
    if (results > 0) spec.results[0].type = std::move(type);
    const auto made = add_settled(graph_, std::move(spec));
    if (!made) return {};
    std::vector<Value> values;
    for (std::uint32_t i = 0; i < results; ++i) values.push_back({*made, i});
    return values;
  }

  std::vector<Value> convolution(std::string_view kind) {
    if (rank() < 3) return {};
    const std::int64_t channels = extent(1);
    const bool is_transposed = kind == ops::ConvTranspose::kind;
    const std::int64_t group = random_.one_in(4) ? channels : 1;
    const std::int64_t made = random_.number(1, 3);
    Extents weight =
        is_transposed ? Extents{channels, made} : Extents{made * group, channels / group};
    const auto spatial = static_cast<std::size_t>(rank() - 2);
    for (std::size_t i = 0; i < spatial; ++i) weight.push_back(random_.number(1, 3));
    Attributes attributes;
    if (group != 1) attributes.set("group", group);
    if (random_.one_in(2)) attributes.set("pads", Extents(2 * spatial, random_.number(0, 2)));
    if (random_.one_in(4)) attributes.set("strides", Extents(spatial, random_.number(1, 3)));
    if (random_.one_in(8)) attributes.set("dilations", Extents(spatial, 2));
    if (random_.one_in(8)) attributes.set("auto_pad", std::string("SAME_UPPER"));
    std::vector<Value> operands{data_, reals(std::move(weight))};
    if (random_.one_in(2)) operands.push_back(reals({made * group}));
    return node(kind, std::move(operands), std::move(attributes));
  }

  std::vector<Value> product() {
    const std::int64_t inner = extent(rank() - 1);
    const std::int64_t outer = random_.number(1, 4);
    const bool has_bias = random_.one_in(2);
    switch (random_.number(0, 3)) {
      case 0:
        return node(ops::MatMul::kind, {data_, reals({inner, outer})});
      case 1:
        return node(ops::Gemm::kind,
                    {data_, reals({outer, inner}), has_bias ? reals({outer}) : Value{}},
                    {{"transB", std::int64_t{1}}});
      case 2:
        return node(ops::Linear::kind,
                    {data_, reals({outer, inner}), has_bias ? reals({outer}) : Value{}});
      default:
        return node(ops::MatMul::kind, {reals({outer, extent(rank() - 2)}), data_});
    }
  }

  std::vector<Value> normalization() {
    const std::int64_t channels = extent(1);
    switch (random_.number(0, 3)) {
      case 0:
        return node("onnx.LayerNormalization",
                    {data_, reals({extent(rank() - 1)}), reals({extent(rank() - 1)})});
      case 1:
        return node("onnx.InstanceNormalization", {data_, reals({channels}), reals({channels})});
      default: {
        // A variance that is none is of interest, too.
        const bool is_variance = !random_.one_in(8);
        return node("onnx.BatchNormalization",
                    {data_, reals({channels}, random_.one_in(2)), reals({channels}),
                     reals({channels}), reals({channels}, is_variance)});
      }
    }
  }

  // One number a channel, or for all.
  Value channel_constant() {
    if (random_.one_in(4)) return reals({});
    Extents extents(static_cast<std::size_t>(std::max<std::int64_t>(rank() - 1, 1)), 1);
    extents[0] = extent(rank() > 1 ? 1 : 0);
    return reals(std::move(extents), random_.one_in(2));
  }

  std::vector<Value> clip() {
    if (type_.element != ElementType::float32) return {};
    return node("onnx.Clip", {data_, scalar(0), scalar(static_cast<double>(random_.number(1, 6)))});
  }

  std::vector<Value> simulated_quantization() {
    const double low = -static_cast<double>(random_.number(0, 64)) / 8;
    const double high = low + static_cast<double>(random_.number(1, 128)) / 8;
    switch (random_.number(0, 2)) {
      case 0:
        return node(ops::ConstFakeQuant::kind, {data_},
                    {{"min", low},
                     {"max", high},
                     {"num_bits", random_.one_in(4) ? random_.number(2, 16) : 8}});
      case 1:
        return node(ops::FakeQuant::kind, {data_, scalar(low), scalar(high)});
      default: {
        const std::int64_t levels = random_.one_in(4) ? random_.number(2, 257) : 256;
        const Value from = scalar(low);
        const Value to = scalar(high);
        return node(ops::FakeQuantize::kind,
                    {data_, from, to, random_.one_in(8) ? scalar(0) : from, to},
                    {{"levels", levels}});
      }
    }
  }

  // To codes, and mostly back.
  std::vector<Value> casts() {
    std::vector<Value> codes =
        node(ops::Quantize::kind, {data_}, {}, 1, random_.quantized(type_.shape));
    if (codes.empty() || random_.one_in(8)) return codes;
    return node(ops::Dequantize::kind, {codes[0]});
  }

  std::vector<Value> pool() {
    if (rank() < 3) return {};
    const std::string_view kind = random_.pick(pools);
    Attributes attributes;
    const auto spatial = static_cast<std::size_t>(rank() - 2);
    if (!kind.starts_with("onnx.Global")) {
      attributes.set("kernel_shape", Extents(spatial, random_.number(1, 3)));
      if (random_.one_in(2)) attributes.set("strides", Extents(spatial, random_.number(1, 2)));
      if (random_.one_in(4)) attributes.set("pads", Extents(2 * spatial, 1));
      if (random_.one_in(8)) attributes.set("ceil_mode", std::int64_t{1});
    }
    return node(kind, {data_}, std::move(attributes));
  }

  // Elements in another place.
  std::vector<Value> move() {
    const std::int64_t axis = random_.number(0, std::max<std::int64_t>(rank() - 1, 0));
    switch (random_.number(0, 6)) {
      case 0: {
        Extents perm(static_cast<std::size_t>(rank()));
        std::iota(perm.begin(), perm.end(), 0);
        if (rank() > 1) std::swap(perm[static_cast<std::size_t>(axis)], perm.back());
        return node(ops::Transpose::kind, {data_}, {{"perm", std::move(perm)}});
      }
      case 1:
        return node(ops::Reshape::kind, {data_, list({random_.number(0, 4), -1})});
      case 2:
        return node(ops::Flatten::kind, {data_}, {{"axis", axis}});
      case 3:
        return node(ops::Concat::kind, {data_, data_}, {{"axis", axis}});
      case 4:
        return node(ops::Split::kind, {data_}, {{"axis", axis}}, 2);
      case 5:
        return node(ops::Slice::kind, {data_, list({random_.number(-2, 1)}),
                                       list({random_.number(1, 4)}), list({axis})});
      default:
        return node(
            "onnx.Pad",
            {data_, list(Extents(static_cast<std::size_t>(2 * rank()), random_.number(0, 1)))});
    }
  }

  std::vector<Value> reduction() {
    const std::int64_t axis = random_.number(0, std::max<std::int64_t>(rank() - 1, 0));
    return node(random_.pick(reductions), {data_, list({axis})});
  }

  std::vector<Value> recurrent() {
    if (rank() != 3) return {};
    constexpr std::array kinds{ops::Rnn::kind, ops::Gru::kind, ops::Lstm::kind};
    constexpr std::array gates{ops::Rnn::gates, ops::Gru::gates, ops::Lstm::gates};
    const auto which = static_cast<std::size_t>(random_.number(0, 2));
    const std::int64_t hidden = random_.number(1, 2);
    const std::int64_t rows = gates[which] * hidden;
    std::vector<Value> operands{data_, reals({1, rows, extent(2)}), reals({1, rows, hidden})};
    if (random_.one_in(2)) operands.push_back(reals({1, 2 * rows}));
    return node(kinds[which], std::move(operands), {{"hidden_size", hidden}}, 2);
  }

  std::vector<Value> lookup() {
    const std::int64_t rows = extent(0);
    return node(ops::Gather::kind, {data_, list({random_.number(0, rows), random_.number(-1, 0)})},
                {{"axis", std::int64_t{0}}});
  }

  std::vector<Value> instrumentation() {
    const double low = -static_cast<double>(random_.number(0, 64)) / 8;
    switch (random_.number(0, 2)) {
      case 0:
        return node(ops::Stats::kind, {data_}, {{"layer_stats", std::vector<double>{low, 8.0}}});
      case 1:
        return node(ops::StatsRef::kind, {data_}, {{"stats_key", random_.name()}});
      default:
        return node(ops::CoupledRef::kind, {data_}, {{"coupled_key", std::string("k")}});
    }
  }

  Graph& graph_;
  RandomValues& random_;
  Value data_;
  TensorType type_;
};

}  // namespace

std::vector<Value> add_random_layer(Graph& graph, RandomValues& random, Value data) {
  return Layers(graph, random, data).add();
}

}  // namespace fuzz
