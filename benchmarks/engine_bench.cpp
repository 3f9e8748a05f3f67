// Phases 1 to 3 on graphs of growing size: time per node should not grow. Ratios to the smallest
// size of the same run are what counts; absolute times are noise. `phases` is the time until phase
// 3 is through; what is measured is all of `analyze`, with the plan that it writes, and taking its
// result away.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "engine_graphs.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace {

using namespace quadrant;

class EndOfPhases final : public PhaseObserver {
 public:
  void after_selection(const GraphView& /*graph*/, const RequestGraph& /*requests*/,
                       const Selection& /*selection*/,
                       const ParameterTable& /*parameters*/) override {
    end_ = Clock::now();
  }

  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double seconds_since(Clock::time_point begin) const {
    return std::chrono::duration<double>(end_ - begin).count();
  }

 private:
  Clock::time_point end_;
};

void phases(benchmark::State& state, const bench::GraphShape& shape) {
  const Graph graph = shape.build(state.range(0));
  const Registry registry = *weight_only_registry();
  EndOfPhases observer;
  QuantizeOptions options;
  options.observer = &observer;
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = EndOfPhases::Clock::now();
    auto analysis = analyze(graph, registry, options);
    benchmark::DoNotOptimize(analysis);
    seconds += observer.seconds_since(begin);
  }
  state.counters["phases"] = benchmark::Counter(seconds, benchmark::Counter::kAvgIterations);
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
