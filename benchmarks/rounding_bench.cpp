// How long rounding by second moments takes, against one product of the weight with a matrix of as
// many columns, as Eigen computes it in float32 for the interpreter. `of_product` is one time over
// the other, both on one thread, the product measured just before.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "runtime/gemm.hpp"

namespace {

using quadrant::Encoded;
using quadrant::MatrixView;
using quadrant::NumberFormat;
using quadrant::Rounding;
using quadrant::SecondMoments;
using quadrant::Shape;

std::vector<float> normal_numbers(std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> draw;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::ranges::generate(numbers, [&] { return draw(random); });
  return numbers;
}

template <class Body>
double seconds(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The best of three, after one that maps the pages.
double product_seconds(std::int64_t n) {
  const std::vector<float> a = normal_numbers(n * n);
  const std::vector<float> b = normal_numbers(n * n);
  std::vector<float> out(a.size());
  const auto once = [&] {
    quadrant::add_product(MatrixView<const float>::dense(a.data(), n, n),
                          MatrixView<const float>::dense(b.data(), n, n), 1.0F,
                          MatrixView<float>::dense(out.data(), n, n));
    benchmark::ClobberMemory();
  };
  once();
  double best = seconds(once);
  for (int i = 0; i < 2; ++i) best = std::min(best, seconds(once));
  return best;
}

// Of twice as many inputs as columns. Neighbours go together, and some columns are much larger.
SecondMoments make_moments(std::int64_t n) {
  quadrant::WeightMatrices layout{{0}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    layout.rows.push_back(i * n);
    layout.columns.push_back(i);
  }
  std::vector<double> steps(layout.columns.size());
  std::mt19937 random(2);
  std::normal_distribution<double> draw;
  std::ranges::generate(steps, [&] { return 1e-3 * std::exp(draw(random)); });
  SecondMoments moments(std::move(layout), steps);
  std::vector<double> inputs(static_cast<std::size_t>(2 * n * n));
  double before = 0;
  for (double& input : inputs) {
    before = 0.8 * before + 0.6 * draw(random);
    input = std::nearbyint(1000 * before);
  }
  if (!moments.add(0, inputs)) std::abort();
  return moments;
}

void round(benchmark::State& state, Rounding rounding) {
  const std::int64_t n = state.range(0);
  const Shape shape{n, n};
  const NumberFormat format = *quadrant::parse_number_format("i4 * f32[axis=1 block=32] : f32");
  const std::vector<float> weights = normal_numbers(n * n);
  const SecondMoments moments = make_moments(n);
  const Encoded nearest = *quadrant::encode(weights, shape, format);
  const double product = product_seconds(n);
  double error = 0;
  const double running = seconds([&] {
    for (auto _ : state) {
      Encoded encoded = nearest;
      const auto rounded =
          quadrant::round_weights(weights, shape, format, moments, encoded, {.rounding = rounding});
      error = rounded->error / rounded->nearest;
    }
  });
  state.counters["of_product"] = running / static_cast<double>(state.iterations()) / product;
  state.counters["error"] = error;  // of that of the nearest codes
}

BENCHMARK_CAPTURE(round, weighted, Rounding::weighted)->Arg(1024)->Arg(2048);
BENCHMARK_CAPTURE(round, feedback, Rounding::feedback)->Arg(1024)->Arg(2048);
BENCHMARK_CAPTURE(round, descent, Rounding::descent)->Arg(1024)->Arg(2048);

}  // namespace

BENCHMARK_MAIN();
