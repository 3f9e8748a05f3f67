// How many images a second the interpreter runs, on one core.
//
//   quadrant_interpreter_bench [MODEL.onnx ...]
//
// `items_per_second` counts images a second of processor time, so that other programs disturb
// little. `of_matmul` is the model's rate of multiply-adds over that of one large product of
// matrices, measured just before: what is lost to small products, other operations and moving data.
// It is there for the built-in models, whose multiply-adds are known.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace {

using quadrant::Constant;
using quadrant::ElementType;
using quadrant::Graph;
using quadrant::Shape;
using quadrant::Tensor;
using quadrant::Value;

std::vector<float> random_values(std::size_t count, float deviation) {
  static std::mt19937 random(1);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

Constant random_constant(const Shape& shape, float deviation) {
  return Constant::from_values<float>(
      ElementType::float32, shape,
      random_values(static_cast<std::size_t>(shape.element_count().value_or(0)), deviation));
}

// --- MobileNetV2 ---------------------------------------------------------------------------------

// Sandler et al., arXiv 1801.04381, table 2: width 1.0, images of 224 x 224.
class MobileNetV2 {
 public:
  MobileNetV2() {
    Value x = graph.add_input("image", {ElementType::float32, Shape{1, 3, 224, 224}, nullptr});
    x = convolution(x, 32, {.taps = 3, .stride = 2});
    for (const Stage& stage : stages) {
      for (int i = 0; i < stage.repeats; ++i) {
        x = bottleneck(x, stage.expansion, stage.channels, i == 0 ? stage.stride : 1);
      }
    }
    x = convolution(x, 1280, {});
    x = node("onnx.GlobalAveragePool", {x});
    x = node(std::string(quadrant::ops::Flatten::kind), {x}, {{"axis", std::int64_t{1}}});
    graph.add_output("logits", product(x, 1000));
  }

  Graph graph;
  double multiply_adds = 0;

 private:
  struct Stage {
    std::int64_t expansion, channels;
    int repeats;
    std::int64_t stride;
  };
  static constexpr std::array stages{Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2},
                                     Stage{6, 64, 4, 2}, Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2},
                                     Stage{6, 320, 1, 1}};

  struct Window {
    std::int64_t taps = 1;
    std::int64_t stride = 1;
    bool depthwise = false;
    bool activated = true;
  };

  Value node(std::string kind, std::vector<Value> operands, quadrant::Attributes attributes = {}) {
    return {graph.add({.kind = std::move(kind),
                       .name = {},
                       .operands = std::move(operands),
                       .results = {{}},
                       .attributes = std::move(attributes),
                       .constant = {}})};
  }

  Value constant(const Shape& shape, float deviation) {
    return graph.add_constant({}, random_constant(shape, deviation));
  }

  // With a bias, and clipped to [0, 6].
  Value convolution(Value x, std::int64_t channels, const Window& window) {
    const std::int64_t group = window.depthwise ? channels_ : 1;
    const std::int64_t summed = channels_ / group * window.taps * window.taps;
    const std::int64_t pad = window.taps / 2;
    const Value weight = constant({channels, channels_ / group, window.taps, window.taps},
                                  1.4F / std::sqrt(static_cast<float>(summed)));
    const Value y =
        node(std::string(quadrant::ops::Conv::kind), {x, weight, constant({channels}, 0.1F)},
             {{"group", group},
              {"strides", std::vector<std::int64_t>{window.stride, window.stride}},
              {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
    channels_ = channels;
    extent_ /= window.stride;
    multiply_adds += static_cast<double>(channels * summed * extent_ * extent_);
    return window.activated ? node("onnx.Clip", {y, zero_, six_}) : y;
  }

  Value bottleneck(Value x, std::int64_t expansion, std::int64_t channels, std::int64_t stride) {
    const std::int64_t before = channels_;
    Value y = expansion == 1 ? x : convolution(x, before * expansion, {});
    y = convolution(y, channels_, {.taps = 3, .stride = stride, .depthwise = true});
    y = convolution(y, channels, {.activated = false});
    const bool has_residual = stride == 1 && channels == before;
    return has_residual ? node(std::string(quadrant::ops::Add::kind), {x, y}) : y;
  }

  Value product(Value x, std::int64_t outputs) {
    multiply_adds += static_cast<double>(channels_ * outputs);
    return node(std::string(quadrant::ops::Gemm::kind),
                {x, constant({channels_, outputs}, 0.03F), constant({outputs}, 0.1F)});
  }

  Value number(float value) {
    const std::vector<float> values{value};
    return graph.add_constant(
        {}, Constant::from_values<float>(ElementType::float32, Shape::scalar(), values));
  }

  const Value zero_ = number(0);
  const Value six_ = number(6);
  std::int64_t channels_ = 3;
  std::int64_t extent_ = 224;
};

// --- measuring -----------------------------------------------------------------------------------

// One element where the extent is not known. Numbers that are no reals are 0.
Tensor random_input(const quadrant::TensorType& type) {
  std::vector<std::int64_t> extents;
  for (const std::int64_t extent : type.shape.extents()) {
    extents.push_back(extent == Shape::dynamic ? 1 : extent);
  }
  Tensor tensor = *Tensor::make(type.element, Shape(std::move(extents)));
  if (type.element == ElementType::float32) {
    std::ranges::copy(random_values(static_cast<std::size_t>(tensor.element_count()), 1),
                      tensor.fill<float>().begin());
  } else {
    std::ranges::fill(tensor.fill_bytes(), std::byte{0});
  }
  return tensor;
}

// A model with inputs for it. Benchmarks end with a message where something does not work.
struct Loaded {
  std::unique_ptr<quadrant::ModelExecutor> model;
  std::vector<Tensor> inputs;
  std::size_t outputs = 0;

  explicit Loaded(const Graph& graph) {
    const std::vector<Value> watched = quadrant::output_values(graph);
    outputs = watched.size();
    auto loaded = quadrant::Interpreter().load(graph, watched);
    if (!loaded) {
      error = to_string(loaded.error());
      return;
    }
    model = *std::move(loaded);
    for (const quadrant::NodeId input : graph.inputs()) {
      inputs.push_back(random_input(graph.type({input})));
    }
  }
  void run() {
    const auto results = quadrant::run_model(*model, inputs, outputs);
    if (!results) error = to_string(results.error());
    benchmark::DoNotOptimize(results);
  }
  std::string error;
};

double seconds(Loaded& loaded) {
  const std::clock_t begin = std::clock();
  loaded.run();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Multiply-adds a second of a product of two matrices: the best of ten.
double matmul_rate() {
  constexpr std::int64_t extent = 512;
  Graph graph;
  const Shape shape{extent, extent};
  const Value x = graph.add_input("x", {ElementType::float32, shape, nullptr});
  const Value weight = graph.add_constant("w", random_constant(shape, 1));
  graph.add_output("y", {graph.add({.kind = std::string(quadrant::ops::MatMul::kind),
                                    .name = {},
                                    .operands = {x, weight},
                                    .results = {{}},
                                    .attributes = {},
                                    .constant = {}})});
  Loaded loaded(graph);
  double best = seconds(loaded);
  for (int i = 0; i < 9; ++i) best = std::min(best, seconds(loaded));
  return static_cast<double>(extent * extent * extent) / best;
}

void run(benchmark::State& state, const Graph& graph, double multiply_adds) {
  Loaded loaded(graph);
  const double rate = matmul_rate();
  double running = 0;
  for (auto _ : state) {
    running += loaded.error.empty() ? seconds(loaded) : 0;
    if (!loaded.error.empty()) state.SkipWithError(loaded.error.c_str());
  }
  state.SetItemsProcessed(state.iterations());
  if (multiply_adds == 0) return;
  state.counters["of_matmul"] =
      multiply_adds * static_cast<double>(state.iterations()) / running / rate;
}

void mobilenet_v2(benchmark::State& state) {
  const MobileNetV2 model;
  run(state, model.graph, model.multiply_adds);
}
BENCHMARK(mobilenet_v2)->Unit(benchmark::kMillisecond);

void model_file(benchmark::State& state, const std::string& path) {
  const auto graph = quadrant::read_onnx(path);
  if (!graph) {
    state.SkipWithError(to_string(graph.error()).c_str());
    return;
  }
  run(state, *graph, 0);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    const std::string name = path.substr(path.find_last_of('/') + 1);
    benchmark::RegisterBenchmark(name.c_str(), model_file, path)->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
