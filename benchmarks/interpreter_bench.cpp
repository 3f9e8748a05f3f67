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
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "mobilenet_v2.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace {

using benchmarks::MobileNetV2;
using benchmarks::random_constant;
using benchmarks::random_values;
using quadrant::ElementType;
using quadrant::Extent;
using quadrant::Graph;
using quadrant::Shape;
using quadrant::Tensor;
using quadrant::Value;

// One element where the extent is not known. Numbers that are no reals are 0.
Tensor random_input(const quadrant::TensorType& type) {
  std::vector<std::int64_t> extents;
  for (const Extent extent : type.shape.extents()) {
    extents.push_back(extent.value_or(1));
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
    auto results = quadrant::run_model(*model, inputs, outputs);
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
                                    .operands = {x, weight},
                                    .results = {{}}})});
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
