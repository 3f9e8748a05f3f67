// From ranges to parameters, against the formulas of docs/schemes/static_affine.md in double
// arithmetic: nothing of the library computes what is expected.
//
// Tolerances. A scale is a float32 number, and so is the width of the range that it is computed
// from: each is rounded by 2^-24 of its size at most. The scale of a bias is the product of two
// such scales, rounded once more: five roundings. 2^-21 is more than all of them together.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "build.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::Model;

namespace {

constexpr double tolerance = 1.0 / (1U << 21U);

using List = std::vector<std::int64_t>;

// A layer with constants, and how its weight is laid out.
struct Layer {
  std::string name;  // of its result; weight and bias have this name and `_w`, `_b`
  std::int64_t channel = 0;
  bool has_quantized_bias = false;
};

struct Network {
  explicit Network(unsigned seed) : model(seed) {}
  Model model;
  std::vector<Layer> layers;
  /// For each value whose parameters are expected: the value whose range they come from.
  std::vector<std::pair<std::string, std::string>> range_of;
  std::vector<std::string> data;  // of each layer: the value that it reads
};

enum class Form : std::uint8_t { conv, grouped_conv, conv_transpose, grouped_conv_transpose };

Value add_image_layer(Network& network, Value x, Form form, const std::string& name) {
  Model& model = network.model;
  const bool is_transposed = form == Form::conv_transpose || form == Form::grouped_conv_transpose;
  const bool has_groups = form == Form::grouped_conv || form == Form::grouped_conv_transpose;
  constexpr std::int64_t channels = 4;  // of all images
  const std::int64_t groups = has_groups ? 2 : 1;
  // Both have one number of channels in and out, so that their weights look alike.
  const Value w = model.weight(name + "_w", {channels, channels / groups, 3, 3},
                               static_cast<float>(model.number(1, 100)) / 20);
  std::vector<Value> operands{x, w};
  const bool has_bias = model.coin();
  if (has_bias) operands.push_back(model.weight(name + "_b", {channels}, 3));
  const bool adds_codes = has_bias && !(is_transposed && has_groups);
  network.layers.push_back({name, is_transposed ? 1 : 0, adds_codes});
  return model.add(is_transposed ? "conv_transpose" : "conv", operands, name,
                   {{"group", groups}, {"pads", List(4, 1)}, {"kernel_shape", List{3, 3}}});
}

Value add_matrix_layer(Network& network, Value x, const std::string& name) {
  Model& model = network.model;
  const std::int64_t inputs = model.shape(x)[1].value();
  const std::int64_t outputs = model.number(1, 5);
  const std::int64_t form = model.number(0, 4);
  const bool is_turned = form == 1 || form == 3;  // gemm with transB, linear
  const Shape shape = is_turned ? Shape{outputs, inputs} : Shape{inputs, outputs};
  const Value w = model.weight(name + "_w", shape, static_cast<float>(model.number(1, 100)) / 20);
  const bool has_bias = form != 2 && (form == 4 || model.coin());
  const Value b = has_bias ? model.weight(name + "_b", {outputs}, 3) : Value();
  network.layers.push_back({name, is_turned ? 0 : 1, has_bias});
  const std::vector<Value> operands =
      has_bias ? std::vector<Value>{x, w, b} : std::vector<Value>{x, w};
  switch (form) {
    case 0:
      return model.add("gemm", operands, name);
    case 1:
      return model.add("gemm", operands, name, {{"transB", std::int64_t{1}}});
    case 2:
      return model.add("matmul", operands, name);
    case 3:
      return model.add("linear", operands, name);
    default:
      return model.add("addmm", {b, x, w}, name);
  }
}

// What follows a layer and shares its parameters; the name of the last of them.
std::string add_followers(Network& network, Value& x, const std::string& layer, bool is_image) {
  Model& model = network.model;
  std::vector<std::string> names{layer};
  std::string limited = layer;
  if (model.coin()) {
    limited = layer + "_relu";
    x = model.add("onnx.Relu", {x}, limited);
    names.push_back(limited);
  }
  if (is_image && model.coin()) {
    names.push_back(layer + "_pool");
    x = model.add("onnx.MaxPool", {x}, names.back(), {{"kernel_shape", List{1, 1}}});
  }
  for (const std::string& name : names) network.range_of.emplace_back(name, limited);
  return names.back();
}

void make(Network& network) {
  Model& model = network.model;
  const bool is_image = model.coin();
  Value x = is_image ? model.input("x", {1, 4, 3, 3}) : model.input("x", {3, 4});
  network.range_of.emplace_back("x", "x");
  network.data.emplace_back("x");
  for (const std::string name : {"first", "second", "third"}) {
    x = is_image ? add_image_layer(network, x, static_cast<Form>(model.number(0, 3)), name)
                 : add_matrix_layer(network, x, name);
    network.data.push_back(add_followers(network, x, name, is_image));
  }
  model.output(x);
}

struct Range {
  double low = 0;
  double high = 0;
};

// Ends of any signs and sizes: zero need not be among the values.
std::map<std::string, Range> random_ranges(Network& network) {
  Model& model = network.model;
  std::map<std::string, Range> ranges;
  for (const auto& [name, source] : network.range_of) {
    const double size = std::ldexp(1.0, static_cast<int>(model.number(-8, 8)));
    const auto low = static_cast<float>(size * static_cast<double>(model.number(-1000, 500)) / 700);
    const auto width = static_cast<float>(size * static_cast<double>(model.number(1, 999)) / 700);
    ranges[name] = {static_cast<double>(low), static_cast<double>(low + width)};
  }
  return ranges;
}

std::shared_ptr<StatisticsTable> table_of(const std::map<std::string, Range>& ranges) {
  auto table = std::make_shared<StatisticsTable>();
  for (const auto& [name, range] : ranges) {
    const std::vector<float> ends{static_cast<float>(range.low), static_cast<float>(range.high)};
    table->values[name].histogram.add(ends);
  }
  return table;
}

bool is_near(double found, double expected) {
  return std::abs(found - expected) <= tolerance * std::abs(expected);
}

// scale = (hi - lo) / (2^bits - 1), zero_point = round(least - lo / scale).
double check_activation(const UniformType& type, const Range& seen,
                        const StaticAffineOptions& options) {
  const double steps = options.activations.bits == 16 ? 65535 : 255;
  const double least = options.unsigned_activations ? 0 : -(steps + 1) / 2;
  const double low = std::min(seen.low, 0.0);
  const double high = std::max(seen.high, 0.0);
  const double scale = (high - low) / steps;
  const auto scales = test::scales_of(type);
  REQUIRE(scales.size() == 1);
  CHECK(is_near(static_cast<double>(scales[0]), scale));
  // Nearest, but for what the tolerance of the quotient, which is at most `steps`, may turn.
  const auto zero = static_cast<double>(test::zero_points_of(type)[0]);
  CHECK(std::abs(zero - (least - low / scale)) <= 0.5 + steps * tolerance);
  CHECK(type.storage_min == static_cast<std::int64_t>(least));
  CHECK(type.storage_max == static_cast<std::int64_t>(least + steps));
  CHECK(bit_width(type.storage) == options.activations.bits);
  return scale;
}

// The largest magnitude for each index along `axis`, or of all: one.
std::vector<double> magnitudes(const Constant& weight, std::optional<std::int64_t> axis) {
  const auto values = test::value_of(Tensor::from_constant(weight));
  std::int64_t inner = 1;
  for (std::int64_t i = axis ? *axis + 1 : 0; i < weight.shape().rank(); ++i) {
    inner *= weight.shape()[i].value();
  }
  std::vector<double> found(axis ? static_cast<std::size_t>(weight.shape()[*axis].value()) : 1,
                            0.0);
  std::int64_t index = 0;
  for (const float value : values.as<float>()) {
    double& largest = found[static_cast<std::size_t>(index++ / inner) % found.size()];
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return found;
}

// A bias takes half of what 32 bits hold at most: where it would take more, scales are larger.
void make_room(std::vector<double>& scales, const Graph& real, const Layer& layer,
               double data_scale) {
  const Constant& bias = *real.constant(real.find_value(layer.name + "_b").node);
  const std::vector<double> sizes =
      magnitudes(bias, scales.size() == 1 ? std::nullopt : std::optional<std::int64_t>(0));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = std::max(scales[i], std::ldexp(sizes[i] / data_scale, -30));
  }
}

std::size_t check_layer(const Network& network, std::size_t number, const Graph& graph,
                        double data_scale, const StaticAffineOptions& options) {
  const Graph& real = network.model.graph;
  const Layer& layer = network.layers[number];
  CAPTURE(layer.name);
  const bool is_whole = options.weight_granularity == Granularity::Kind::tensor;
  const auto type = test::type_of_codes(graph, layer.name + "_w");
  REQUIRE(type != nullptr);
  const Constant& weight = *real.constant(real.find_value(layer.name + "_w").node);
  const auto axis = is_whole ? std::nullopt : std::optional(layer.channel);
  std::vector<double> scales = magnitudes(weight, axis);
  const double largest_code = options.weights.bits == 4 ? 7 : 127;
  for (double& scale : scales) scale /= largest_code;
  if (layer.has_quantized_bias) make_room(scales, real, layer, data_scale);
  const auto found = test::scales_of(*type);
  REQUIRE(found.size() == scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    CHECK(is_near(static_cast<double>(found[i]), scales[i]));
  }
  for (const std::int64_t zero : test::zero_points_of(*type)) CHECK(zero == 0);
  if (!is_whole) CHECK(type->granularity == Granularity::per_axis(layer.channel));

  const Value b = real.find_value(layer.name + "_b");
  if (b.is_absent()) return 0;
  const auto bias = test::type_of_codes(graph, layer.name + "_b");
  const bool is_quantized = bias != nullptr;
  CHECK(is_quantized == layer.has_quantized_bias);
  if (!is_quantized) return 0;
  CHECK(bias->storage == ElementType::int32);
  const auto bias_scales = test::scales_of(*bias);
  REQUIRE(bias_scales.size() == scales.size());
  const auto values = test::value_of(Tensor::from_constant(*real.constant(b.node)));
  const Constant* const constant = graph.constant(graph.find_value(layer.name + "_b").node);
  REQUIRE(constant != nullptr);
  const auto codes = test::value_of(read_integers(*constant));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double scale = data_scale * scales[is_whole ? 0 : i];
    CHECK(is_near(static_cast<double>(bias_scales[is_whole ? 0 : i]), scale));
    const double exact = static_cast<double>(values.as<float>()[i]) / scale;
    CHECK(std::abs(static_cast<double>(codes[i]) - exact) <= 0.5 + std::abs(exact) * tolerance);
  }
  return 1;
}

// Gives the number of biases that were compared.
std::size_t check_networks(const StaticAffineOptions& options, unsigned first_seed,
                           unsigned count) {
  std::size_t biases = 0;
  for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
    CAPTURE(seed);
    Network network(seed);
    make(network);
    const std::map<std::string, Range> ranges = random_ranges(network);
    StaticAffineOptions chosen = options;
    chosen.statistics = table_of(ranges);
    chosen.quantized_outputs = true;  // so that the last value is codes, too
    chosen.saturation = Saturation::allow;
    const QuantizeResult result = test::quantized(network.model.graph, chosen, test::by_operands());
    std::map<std::string, double> scales;
    for (const auto& [name, source] : network.range_of) {
      CAPTURE(name);
      if (result.graph.find_value(name).is_absent()) continue;  // a ReLU that codes do
      const auto type = test::type_of_codes(result.graph, name);
      REQUIRE(type != nullptr);
      scales[name] = check_activation(*type, ranges.at(source), options);
    }
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      const double data_scale = scales.at(network.data[i]);
      biases += check_layer(network, i, result.graph, data_scale, options);
    }
  }
  return biases;
}

}  // namespace

TEST_CASE("static_affine: parameters are what the formulas say") {
  CHECK(check_networks({}, 1, 40) > 20);
}

TEST_CASE("static_affine: and so with other widths, signs and granularities") {
  for (const int bits : {8, 16}) {
    for (const bool is_unsigned : {false, true}) {
      for (const auto granularity : {Granularity::Kind::axis, Granularity::Kind::tensor}) {
        StaticAffineOptions options;
        options.activations.bits = bits;
        options.unsigned_activations = is_unsigned;
        options.weight_granularity = granularity;
        CAPTURE(bits);
        CAPTURE(is_unsigned);
        CHECK(check_networks(options, 100, 8) > 5);
      }
    }
  }
  StaticAffineOptions of_4_bits;
  of_4_bits.weights.bits = 4;
  CHECK(check_networks(of_4_bits, 200, 8) > 5);
}
