// Phases 1 to 3 on graphs of growing size: time per node should not grow. Ratios to the smallest
// size of the same run are what counts; absolute times are noise.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace {

using namespace quadrant;

Value weight(Graph& graph, std::string name) {
  static const Constant contents =
      Constant::from_bytes(ElementType::float32, Shape{16, 16},
                           std::vector<std::byte>(std::size_t{16} * 16 * sizeof(float)));
  return graph.add_constant(std::move(name), contents);
}

Value add(Graph& graph, std::string_view kind, std::string name, std::vector<Value> operands) {
  return {graph.add({.kind = std::string(kind),
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{std::move(name), {ElementType::float32, Shape{16, 16}, nullptr}}},
                     .attributes = {},
                     .constant = {}})};
}

/// One weight behind a chain of transposes, and one product at its end.
Graph chain(std::int64_t nodes) {
  Graph graph;
  Value value = weight(graph, "w");
  for (std::int64_t i = 0; i < nodes; ++i) {
    value = add(graph, ops::Transpose::kind, "t" + std::to_string(i), {value});
  }
  const Value x = graph.add_input("x", {ElementType::float32, Shape{16, 16}, nullptr});
  graph.add_output("y", add(graph, ops::MatMul::kind, "m", {x, value}));
  return graph;
}

/// Layers of product, transpose of the weight, and an operation that the scheme does not know.
Graph layers(std::int64_t nodes) {
  Graph graph;
  Value x = graph.add_input("x", {ElementType::float32, Shape{16, 16}, nullptr});
  for (std::int64_t i = 0; i < nodes / 4; ++i) {
    const std::string number = std::to_string(i);
    const Value w = weight(graph, "w" + number);
    const Value t = add(graph, ops::Transpose::kind, "t" + number, {w});
    const Value m = add(graph, ops::MatMul::kind, "m" + number, {x, t});
    x = add(graph, "onnx.Add", "a" + number, {m, x});
  }
  graph.add_output("y", x);
  return graph;
}

/// One weight that every product reads.
Graph shared(std::int64_t nodes) {
  Graph graph;
  const Value w = weight(graph, "w");
  Value x = graph.add_input("x", {ElementType::float32, Shape{16, 16}, nullptr});
  for (std::int64_t i = 0; i < nodes; ++i) {
    x = add(graph, ops::MatMul::kind, "m" + std::to_string(i), {x, w});
  }
  graph.add_output("y", x);
  return graph;
}

void phases(benchmark::State& state, Graph (*build)(std::int64_t)) {
  const Graph graph = build(state.range(0));
  const Registry registry = *weight_only_registry();
  for (auto _ : state) {
    auto analysis = analyze(graph, registry);
    benchmark::DoNotOptimize(analysis);
  }
  state.SetComplexityN(state.range(0));
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(phases, chain, chain)
    ->RangeMultiplier(10)
    ->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(phases, layers, layers)
    ->RangeMultiplier(10)
    ->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(phases, shared, shared)
    ->RangeMultiplier(10)
    ->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
