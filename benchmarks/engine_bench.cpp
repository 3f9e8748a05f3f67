// Phases 1 to 3 on graphs of growing size: time per node should not grow. Ratios to the smallest
// size of the same run are what counts; absolute times are noise.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "engine_graphs.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace {

using namespace quadrant;

void phases(benchmark::State& state, const bench::GraphShape& shape) {
  const Graph graph = shape.build(state.range(0));
  const Registry registry = *weight_only_registry();
  for (auto _ : state) {
    auto analysis = analyze(graph, registry);
    benchmark::DoNotOptimize(analysis);
  }
  state.SetComplexityN(state.range(0));
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(graph.node_count()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  for (const bench::GraphShape& shape : bench::graph_shapes) {
    benchmark::RegisterBenchmark(std::string(shape.name).c_str(), phases, shape)
        ->RangeMultiplier(10)
        ->Range(1'000, 1'000'000)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
