// How fast statistics are gathered, and how much memory that takes.
//
//   quadrant_calibrate_bench [MODEL.onnx ...]
//
// `items_per_second` counts values, or images, a second of processor time on one core, so that
// other programs disturb little. `of_running` is the time that a model takes when its values are
// watched over the time it takes when only its outputs are asked for. `peak_MB` is the largest
// memory of the program so far: a thousand samples, which come last, must not raise it.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "mobilenet_v2.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace {

using quadrant::ElementType;
using quadrant::ExactSum;
using quadrant::Graph;
using quadrant::Histogram;
using quadrant::Shape;
using quadrant::Tensor;
using quadrant::TensorStatistics;
using quadrant::Value;

constexpr std::size_t many = std::size_t{1} << 20;

std::vector<float> normal_values(std::size_t count) { return benchmarks::random_values(count, 1); }

std::vector<float> relu_values() {
  std::vector<float> values = normal_values(many);
  for (float& value : values) value = std::max(value, 0.0F);
  return values;
}

// --- numbers -------------------------------------------------------------------------------------

template <class Statistics>
void add(benchmark::State& state, const std::vector<float>& values) {
  Statistics statistics;
  for (auto _ : state) {
    statistics.add(values);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}

void histogram(benchmark::State& state, const std::vector<float>& values) {
  add<Histogram>(state, values);
}
BENCHMARK_CAPTURE(histogram, normal, normal_values(many));
BENCHMARK_CAPTURE(histogram, relu, relu_values());

void exact_sum(benchmark::State& state, const std::vector<float>& values) {
  add<ExactSum>(state, values);
}
BENCHMARK_CAPTURE(exact_sum, normal, normal_values(many));

void tensor(benchmark::State& state, const Shape& shape, std::optional<std::int64_t> channel_axis) {
  const auto count = static_cast<std::size_t>(shape.element_count().value_or(0));
  const Tensor values =
      Tensor::from_values<float>(ElementType::float32, shape, normal_values(count));
  TensorStatistics statistics(channel_axis);
  for (auto _ : state) statistics.add(values);
  state.SetItemsProcessed(state.iterations() * values.element_count());
}
BENCHMARK_CAPTURE(tensor, whole, Shape{1, 64, 112, 112}, std::nullopt);
BENCHMARK_CAPTURE(tensor, channels, Shape{1, 64, 112, 112}, 1);
BENCHMARK_CAPTURE(tensor, channels_last, Shape{1, 112, 112, 64}, 3);

void merge(benchmark::State& state) {
  Histogram histogram;
  histogram.add(normal_values(many));
  Histogram sum;
  for (auto _ : state) sum.merge(histogram);
}
BENCHMARK(merge);

// --- models --------------------------------------------------------------------------------------

double seconds(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double running_seconds(const Graph& graph, const quadrant::DataSet& data) {
  const std::vector<Value> outputs = quadrant::output_values(graph);
  const auto model = quadrant::Interpreter().load(graph, outputs);
  const std::clock_t begin = std::clock();
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto sample = data.sample(i);
    benchmark::DoNotOptimize(quadrant::run_model(**model, sample->inputs, outputs.size()));
  }
  return seconds(begin);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;  // NOLINT: the C library's field is a union's
}

void calibrate_model(benchmark::State& state, const Graph& graph, std::size_t samples) {
  const auto data = quadrant::random_data_set(graph, samples, 1);
  double calibrating = 0;
  for (auto _ : state) {
    const std::clock_t begin = std::clock();
    const auto table = quadrant::calibrate(graph, quadrant::Interpreter(), *data);
    calibrating += seconds(begin);
    if (!table) {
      state.SkipWithError(to_string(table.error()).c_str());
      return;
    }
  }
  state.counters["peak_MB"] = peak_megabytes();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(samples));
  state.counters["of_running"] =
      calibrating / static_cast<double>(state.iterations()) / running_seconds(graph, *data);
}

void mobilenet_v2(benchmark::State& state) {
  calibrate_model(state, benchmarks::MobileNetV2().graph, 100);
}
BENCHMARK(mobilenet_v2)->Unit(benchmark::kMillisecond)->Iterations(1);

void calibrate_file(benchmark::State& state, const std::string& path, std::size_t samples) {
  if (const auto graph = quadrant::read_onnx(path)) {
    calibrate_model(state, *graph, samples);
  } else {
    state.SkipWithError(to_string(graph.error()).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    const std::string name = path.substr(path.find_last_of('/') + 1);
    for (const std::size_t samples : {10U, 1000U}) {
      benchmark::RegisterBenchmark((name + '/' + std::to_string(samples)).c_str(), calibrate_file,
                                   path, samples)
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
