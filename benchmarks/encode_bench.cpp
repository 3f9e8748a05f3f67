// Number formats: how near the best codes and scales come to weights of three distributions, and
// how fast they are found, by the formats' usual rules and by search.
//
// `of_memcpy` is as in numerics_bench.cpp; `sqnr_db` is of the weights, `bound_db` what no codes
// and scales can exceed, where that is known. scripts/formats_table.py makes a table of them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "numerics/metrics.hpp"
#include "quadrant/numerics/encode.hpp"

namespace {

using quadrant::NumberFormat;
using quadrant::Shape;

constexpr std::size_t weights = std::size_t{1} << 20U;
const Shape shape{1024, 1024};

std::vector<float> values_of(const std::string& distribution) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::exponential_distribution<float> exponential;
  std::student_t_distribution<float> student(4);
  std::vector<float> values(weights);
  for (float& value : values) {
    if (distribution == "gauss") value = normal(random);
    if (distribution == "laplace") value = exponential(random) * (random() % 2 == 0 ? 1.0F : -1.0F);
    if (distribution == "t4") value = student(random);
  }
  return values;
}

double seconds_of_memcpy(const std::vector<float>& values) {
  std::vector<float> copy(values.size());
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    std::memcpy(copy.data(), values.data(), values.size() * sizeof(float));
    benchmark::DoNotOptimize(copy.data());
    benchmark::ClobberMemory();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

void encode(benchmark::State& state, const std::string& format_name,
            const std::string& distribution, bool search) {
  const NumberFormat format = quadrant::parse_number_format(format_name).value();
  const std::vector<float> values = values_of(distribution);
  const double copying = seconds_of_memcpy(values);
  quadrant::Encoded encoded;
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) {
    encoded = quadrant::encode(values, shape, format, {.search = search}).value();
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::vector<float> decoded(values.size());
  if (!quadrant::decode(encoded, shape, format, decoded)) {
    state.SkipWithError("cannot decode");
    return;
  }
  const std::vector<float> zeros(values.size());
  const double power = quadrant::squared_error(values, zeros);
  state.counters["sqnr_db"] = quadrant::sqnr_db(values, decoded);
  state.counters["bound_db"] = 10 * std::log10(power / encoded.bound);
  state.counters["bits"] = quadrant::bits_per_weight(format, shape);
  state.counters["of_memcpy"] = copying * static_cast<double>(state.iterations()) / taken.count();
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(values.size() * sizeof(float)));
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> formats;
  for (const quadrant::NamedFormat& row : quadrant::named_formats()) formats.emplace_back(row.name);
  for (const char* text :
       {"nf4 * +-f16[block=64] : f32", "i4 * f16[block=256] * i6[block=16] : f32",
        "i4<-7:7> * f32[channel] * u4<1:16>[block=16] : f32", "codebook:16:channel",
        "table<16 x f16>[tensor] * f32[tensor] * +-f8e4m3[block=16] : f32"}) {
    formats.emplace_back(text);
  }
  for (const std::string& format : formats) {
    for (const char* distribution : {"gauss", "laplace", "t4"}) {
      for (const bool search : {false, true}) {
        benchmark::RegisterBenchmark(
            (format + "/" + distribution + (search ? "/search" : "/usual")).c_str(), encode, format,
            distribution, search)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
