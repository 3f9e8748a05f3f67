// Means over all samples, with the model run here, before and after.
#include "quadrant/calibration/correct_bias.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "calibration/memory_data.hpp"
#include "ir/scales.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant {
namespace {

constexpr std::int64_t channels = 4;
const Shape map_shape{1, channels, 6, 6};

class Numbers {
 public:
  std::vector<float> take(std::int64_t count, float mean, float deviation) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = mean + deviation * normal_(random_);
    return values;
  }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
};

Constant floats(const Shape& shape, const std::vector<float>& values) {
  return Constant::from_values<float>(ElementType::float32, shape, values);
}

Value add(Graph& graph, std::string_view kind, const std::string& name, std::vector<Value> operands,
          const Shape& shape = map_shape) {
  return {graph.add({.kind = std::string(kind),
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{name, {ElementType::float32, shape, nullptr}}}})};
}

Value conv(Graph& graph, const std::string& name, Value data, Numbers& numbers,
           bool has_bias = true) {
  const Shape shape{channels, channels, 1, 1};
  std::vector<Value> operands{
      data, graph.add_constant(name + ".w", floats(shape, numbers.take(16, 0.2F, 1)))};
  if (has_bias) {
    operands.push_back(
        graph.add_constant(name + ".b", floats({channels}, numbers.take(channels, 0, 1))));
  }
  return add(graph, ops::Conv::kind, name, std::move(operands));
}

struct Quantized {
  Graph real;
  Graph quantized;
  std::unique_ptr<DataSet> data;
};

// Quantized to weights so coarse that results shift.
void quantize_coarsely(Quantized& made) {
  const auto statistics = calibrate(made.real, Interpreter(), *made.data);
  REQUIRE(statistics.has_value());
  StaticAffineOptions options{.statistics = std::make_shared<const StatisticsTable>(*statistics)};
  options.weights.bits = 4;
  auto result = quantize_static(made.real, options);
  REQUIRE(result.has_value());
  made.quantized = std::move(result->graph);
}

// Three convolutions with Relus between.
Quantized quantized_model(bool has_bias = true) {
  Numbers numbers;
  Quantized made;
  const Value x = made.real.add_input("x", {ElementType::float32, map_shape, nullptr});
  const Value a = conv(made.real, "a", x, numbers);
  const Value b = conv(made.real, "b", add(made.real, "onnx.Relu", "a_relu", {a}), numbers);
  const Value c =
      conv(made.real, "c", add(made.real, "onnx.Relu", "b_relu", {b}), numbers, has_bias);
  made.real.add_output("y", c);
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i) {
    samples.push_back(sample_of({1, channels, 6, 6}, numbers.take(36 * channels, 0.5F, 1)));
  }
  made.data = std::make_unique<MemoryData>(std::move(samples));
  quantize_coarsely(made);
  return made;
}

// The mean of each channel of the node's result, of which `inner` elements follow one another, by a
// run for each sample.
std::vector<double> means(const Graph& graph, std::string_view node, const DataSet& data,
                          std::size_t inner = 36) {
  Value value;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    if (graph.node_at(i).is_valid() && graph.name(graph.node_at(i)) == node) {
      value = {graph.node_at(i)};
    }
  }
  REQUIRE(!value.is_absent());
  const std::vector<Value> watched{value};
  const auto model = Interpreter().load(graph, watched);
  REQUIRE(model.has_value());
  std::vector<double> sums(channels, 0);
  double count = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto sample = data.sample(i);
    REQUIRE(sample.has_value());
    const auto run =
        (*model)->run(sample->inputs, [&](std::size_t, const Tensor& tensor) -> Expected<void> {
          const auto values = tensor.as<float>();
          for (std::size_t k = 0; k < values.size(); ++k) {
            sums[k / inner % channels] += static_cast<double>(values[k]);
          }
          count += 36;
          return {};
        });
    REQUIRE(run.has_value());
  }
  for (double& sum : sums) sum /= count;
  return sums;
}

Graph spelled_out(const Graph& graph) {
  Graph copy = graph;
  make_quantization_explicit(copy);
  return copy;
}

double step_of_bias(const Graph& graph, std::string_view name, std::size_t channel) {
  const auto type = graph.type(graph.find_value(name)).uniform();
  REQUIRE(type != nullptr);
  return static_cast<double>((*read_scales(type->scales))[channel]);
}

double largest_shift(const Quantized& made, std::string_view layer) {
  const auto before = means(made.real, layer, *made.data);
  const auto after = means(spelled_out(made.quantized), layer, *made.data);
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    largest = std::max(largest, std::abs(after[i] - before[i]));
  }
  return largest;
}

TEST_CASE("bias correction: each layer has the mean of the float model, up to a step") {
  Quantized made = quantized_model();
  for (const char* const layer : {"a", "b", "c"}) CHECK(largest_shift(made, layer) > 1e-3);
  const auto report = correct_bias(made.quantized, made.real, Interpreter(), *made.data);
  REQUIRE(report.has_value());
  CHECK(report->corrected.size() == 3);
  CHECK(report->left.empty());
  for (const char* const layer : {"a", "b", "c"}) {
    const auto before = means(made.real, layer, *made.data);
    const auto after = means(spelled_out(made.quantized), layer, *made.data);
    for (std::size_t i = 0; i < before.size(); ++i) {
      CAPTURE(layer);
      const double step = step_of_bias(made.quantized, std::string(layer) + ".b", i);
      CHECK(std::abs(after[i] - before[i]) <= step / 2 + 1e-5);
    }
  }
}

TEST_CASE("bias correction: the shift that is reported is the one that was there") {
  Quantized made = quantized_model();
  const auto before = means(made.real, "a", *made.data);
  const auto shifted = means(spelled_out(made.quantized), "a", *made.data);
  const auto report = correct_bias(made.quantized, made.real, Interpreter(), *made.data);
  REQUIRE(report.has_value());
  REQUIRE(report->corrected.front().layer == "a");
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(report->corrected.front().shift[i] ==
          doctest::Approx(shifted[i] - before[i]).epsilon(1e-4));
  }
}

TEST_CASE("bias correction: done again, there is nothing left but rounding") {
  Quantized made = quantized_model();
  REQUIRE(correct_bias(made.quantized, made.real, Interpreter(), *made.data).has_value());
  const auto again = correct_bias(made.quantized, made.real, Interpreter(), *made.data);
  REQUIRE(again.has_value());
  for (const CorrectedBias& layer : again->corrected) {
    for (std::size_t i = 0; i < layer.shift.size(); ++i) {
      const double step = step_of_bias(made.quantized, layer.layer.substr(0, 1) + ".b", i);
      CHECK(std::abs(layer.shift[i]) <= step / 2 + 1e-5);
    }
  }
}

TEST_CASE("bias correction: what is added behind a matrix product is its bias") {
  const Shape rows{1, 36, channels};
  Numbers numbers;
  Quantized made;
  Value value = made.real.add_input("x", {ElementType::float32, rows, nullptr});
  for (const std::string name : {"a", "b"}) {
    const Value weight = made.real.add_constant(
        name + ".w", floats({channels, channels}, numbers.take(channels * channels, 0.2F, 1)));
    const Value bias =
        made.real.add_constant(name + ".b", floats({channels}, numbers.take(channels, 0, 1)));
    const Value product =
        add(made.real, ops::MatMul::kind, name + ".product", {value, weight}, rows);
    value = add(made.real, ops::Add::kind, name, {bias, product}, rows);
  }
  const Value weight = made.real.add_constant(
      "c.w", floats({channels, channels}, numbers.take(channels * channels, 0.2F, 1)));
  made.real.add_output("y", add(made.real, ops::MatMul::kind, "c", {value, weight}, rows));
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i) samples.push_back(sample_of(rows, numbers.take(36 * channels, 1, 1)));
  made.data = std::make_unique<MemoryData>(std::move(samples));
  quantize_coarsely(made);

  const auto report = correct_bias(made.quantized, made.real, Interpreter(), *made.data);
  REQUIRE(report.has_value());
  REQUIRE(report->corrected.size() == 2);
  REQUIRE(report->left.size() == 1);
  CHECK(report->left[0].name == "c");
  for (const char* const layer : {"a", "b"}) {
    const auto before = means(made.real, layer, *made.data, 1);
    const auto after = means(spelled_out(made.quantized), layer, *made.data, 1);
    const double step = step_of_bias(made.quantized, std::string(layer) + ".b", 0);
    const auto& shift = report->corrected[layer == std::string("a") ? 0 : 1].shift;
    CHECK(std::abs(*std::ranges::max_element(shift)) > step);
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(std::abs(after[i] - before[i]) <= step / 2 + 1e-5);
    }
  }
}

TEST_CASE("bias correction: a layer without a bias is left, and named") {
  Quantized made = quantized_model(false);
  const auto report = correct_bias(made.quantized, made.real, Interpreter(), *made.data);
  REQUIRE(report.has_value());
  CHECK(report->corrected.size() == 2);
  REQUIRE(report->left.size() == 1);
  CHECK(report->left[0].name == "c");
  CHECK(report->left[0].reason == "it has no constant bias of its own");
}

TEST_CASE("bias correction: a model without codes has nothing to correct, and needs no samples") {
  const Quantized made = quantized_model();
  Graph real = made.real;
  const MemoryData none({});
  const auto report = correct_bias(real, made.real, Interpreter(), none);
  REQUIRE(report.has_value());
  CHECK(report->corrected.empty());
  Graph quantized = made.quantized;
  const auto refused = correct_bias(quantized, made.real, Interpreter(), none);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == ErrorCode::usage);
}

}  // namespace
}  // namespace quadrant
