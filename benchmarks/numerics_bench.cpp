// How fast weights are scanned and quantized, against copying the same bytes.
//
// `of_memcpy` is the loop's rate of float bytes read over the rate at which one thread's memcpy
// copies them, measured just before: 1 is the speed of memory. Both are elapsed time. Of the search
// for the least squared error it is the weights a second that count.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "ir/float16.hpp"
#include "numerics/quantize_weights.hpp"
#include "quadrant/adapters/tbb.hpp"
#include "quadrant/numerics/encode.hpp"

namespace {

using quadrant::Clip;
using quadrant::Constant;
using quadrant::ElementType;
using quadrant::Granularity;
using quadrant::ScaleRule;
using quadrant::Shape;
using quadrant::Symmetry;

constexpr std::int64_t rows = 4096;
constexpr std::int64_t columns = 4096;

Constant make_weights(const Shape& shape, ElementType element = ElementType::float32) {
  std::mt19937 random(1);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<std::size_t>(shape.element_count().value_or(0)));
  for (float& value : values) value = distribution(random);
  if (element == ElementType::float16) {
    std::vector<std::uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), quadrant::round_to_float16);
    return Constant::from_values<std::uint16_t>(element, shape, halves);
  }
  return Constant::from_values<float>(ElementType::float32, shape, values);
}

template <class Body>
double seconds(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Seconds to copy the weights: the best of five, after one that maps the pages.
double memcpy_seconds(const Constant& weights) {
  const auto bytes = weights.read();
  std::vector<std::byte> copy(weights.byte_size());
  const auto once = [&] {
    std::memcpy(copy.data(), bytes->bytes().data(), copy.size());
    benchmark::ClobberMemory();
  };
  once();
  double best = seconds(once);
  for (int i = 0; i < 4; ++i) best = std::min(best, seconds(once));
  return best;
}

template <class Body>
void run(benchmark::State& state, const Constant& weights, Body body) {
  const double copying = memcpy_seconds(weights);
  const double running = seconds([&] {
    for (auto _ : state) body();
  });
  const auto iterations = static_cast<double>(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(weights.byte_size()));
  state.counters["of_memcpy"] = copying * iterations / running;
}

void scan(benchmark::State& state, const Shape& shape, const Granularity& granularity,
          const ScaleRule& rule = {}) {
  const Constant weights = make_weights(shape);
  run(state, weights,
      [&] { benchmark::DoNotOptimize(quadrant::scan_parameters(weights, granularity, rule)); });
  state.SetItemsProcessed(state.iterations() * weights.element_count());
}

void quantize(benchmark::State& state, const Shape& shape, const Granularity& granularity) {
  const Constant weights = make_weights(shape);
  const auto result = quadrant::scan_parameters(weights, granularity, {});
  quadrant::UniformType type;
  type.granularity = granularity;
  type.scales = result->scales;
  const auto codes =
      quadrant::quantized(weights, std::make_shared<const quadrant::UniformType>(type));
  std::vector<std::byte> out(codes->byte_size());
  run(state, weights, [&] { benchmark::DoNotOptimize(codes->read(0, out)); });
}

// Scales and codes together, from memory to memory, on one thread and on two.
void quantize_in_memory(benchmark::State& state, const Shape& shape, const Granularity& granularity,
                        const ScaleRule& rule, ElementType element = ElementType::float32) {
  const Constant weights = make_weights(shape, element);
  const auto values = weights.read();
  const bool packed = quadrant::bit_width(rule.storage) == 4;
  const auto count = static_cast<std::size_t>(weights.element_count());
  std::vector<std::byte> codes(packed ? count / 2 : count);
  quadrant::TbbExecutor threads(static_cast<std::size_t>(state.range(0)));
  run(state, weights, [&] {
    benchmark::DoNotOptimize(quadrant::quantize_weights(element, values->bytes(), shape,
                                                        granularity, rule, codes,
                                                        {.packed = packed, .executor = &threads}));
  });
}

void on_threads(benchmark::internal::Benchmark* one) {
  one->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();
}

const ScaleRule int8{};
const ScaleRule int4{ElementType::int4, -8, 7};
const ScaleRule uint8_asymmetric{ElementType::uint8, 0, 255, Symmetry::asymmetric, Clip::minmax};
const ScaleRule narrow8_mse{.clip = Clip::mse};
const ScaleRule int4_mse{ElementType::int4, -8, 7, Symmetry::symmetric, Clip::mse};
const ScaleRule int4_signed_mse{ElementType::int4, -8, 7, Symmetry::signed_scale, Clip::mse};
const ScaleRule uint4_minmax{ElementType::uint4, 0, 15, Symmetry::asymmetric, Clip::minmax};
const ScaleRule uint4_mse{ElementType::uint4, 0, 15, Symmetry::asymmetric, Clip::mse};

const Shape matrix{rows, columns};
const Shape tall_matrix{4 * rows, columns};
const Shape small_matrix{512, 4096};
const Shape kernels{2048, 910, 3, 3};
const Shape depthwise{1864128, 1, 3, 3};

BENCHMARK_CAPTURE(scan, per_tensor, matrix, Granularity::per_tensor());
BENCHMARK_CAPTURE(scan, rows, matrix, Granularity::per_axis(0));
BENCHMARK_CAPTURE(scan, columns, matrix, Granularity::per_axis(1));
BENCHMARK_CAPTURE(scan, kernels_out, kernels, Granularity::per_axis(0));
BENCHMARK_CAPTURE(scan, kernels_in, kernels, Granularity::per_axis(1));
BENCHMARK_CAPTURE(scan, depthwise, depthwise, Granularity::per_axis(0));
BENCHMARK_CAPTURE(scan, row_blocks, matrix, Granularity::per_block(1, 32));
BENCHMARK_CAPTURE(scan, column_blocks, matrix, Granularity::per_block(0, 32));
BENCHMARK_CAPTURE(scan, row_blocks_minmax, matrix, Granularity::per_block(1, 32), uint4_minmax);

BENCHMARK_CAPTURE(scan, row_blocks_mse, small_matrix, Granularity::per_block(1, 32), int4_mse);
BENCHMARK_CAPTURE(scan, row_blocks_128_mse, small_matrix, Granularity::per_block(1, 128), int4_mse);
BENCHMARK_CAPTURE(scan, column_blocks_mse, small_matrix, Granularity::per_block(0, 32), int4_mse);
BENCHMARK_CAPTURE(scan, row_blocks_signed_mse, small_matrix, Granularity::per_block(1, 32),
                  int4_signed_mse);
BENCHMARK_CAPTURE(scan, row_blocks_asymmetric_mse, small_matrix, Granularity::per_block(1, 32),
                  uint4_mse);
BENCHMARK_CAPTURE(scan, rows_mse, small_matrix, Granularity::per_axis(0), narrow8_mse);
BENCHMARK_CAPTURE(scan, columns_mse, small_matrix, Granularity::per_axis(1), narrow8_mse);

BENCHMARK_CAPTURE(quantize, per_tensor, matrix, Granularity::per_tensor());
BENCHMARK_CAPTURE(quantize, rows, matrix, Granularity::per_axis(0));
BENCHMARK_CAPTURE(quantize, columns, matrix, Granularity::per_axis(1));
BENCHMARK_CAPTURE(quantize, kernels_out, kernels, Granularity::per_axis(0));
BENCHMARK_CAPTURE(quantize, kernels_in, kernels, Granularity::per_axis(1));
BENCHMARK_CAPTURE(quantize, depthwise, depthwise, Granularity::per_axis(0));
BENCHMARK_CAPTURE(quantize, row_blocks, matrix, Granularity::per_block(1, 32));
BENCHMARK_CAPTURE(quantize, column_blocks, matrix, Granularity::per_block(0, 32));

BENCHMARK_CAPTURE(quantize_in_memory, int8_per_tensor, matrix, Granularity::per_tensor(), int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_rows, matrix, Granularity::per_axis(0), int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, uint8_asymmetric_rows, matrix, Granularity::per_axis(0),
                  uint8_asymmetric)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_columns, matrix, Granularity::per_axis(1), int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_tall_columns, tall_matrix, Granularity::per_axis(1),
                  int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_kernels_out, kernels, Granularity::per_axis(0), int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_kernels_in, kernels, Granularity::per_axis(1), int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_row_blocks_32, matrix, Granularity::per_block(1, 32),
                  int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_row_blocks_128, matrix, Granularity::per_block(1, 128),
                  int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int8_column_blocks_32, matrix, Granularity::per_block(0, 32),
                  int8)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int4_rows, matrix, Granularity::per_axis(0), int4)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int4_columns, matrix, Granularity::per_axis(1), int4)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int4_row_blocks_32, matrix, Granularity::per_block(1, 32),
                  int4)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int4_row_blocks_128, matrix, Granularity::per_block(1, 128),
                  int4)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, int4_column_blocks_32, matrix, Granularity::per_block(0, 32),
                  int4)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, float16_to_int8_rows, matrix, Granularity::per_axis(0), int8,
                  ElementType::float16)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, float16_to_int8_columns, matrix, Granularity::per_axis(1),
                  int8, ElementType::float16)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(quantize_in_memory, float16_to_int4_row_blocks_32, matrix,
                  Granularity::per_block(1, 32), int4, ElementType::float16)
    ->Apply(on_threads);

}  // namespace

BENCHMARK_MAIN();
