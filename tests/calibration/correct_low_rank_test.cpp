// Products with a correction: what they compute, and which weights have one.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "numerics/reals.hpp"
#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/files.hpp"
#include "support/shared_room.hpp"
#include "tensor_values.hpp"

namespace quadrant::test {
namespace {

constexpr std::int64_t width = 16;
constexpr std::int64_t inputs_of_sample = 40;

Constant normal_constant(Shape shape, unsigned seed) {
  const std::int64_t count = shape.element_count().value_or(0);
  return Constant::from_values<float>(ElementType::float32, std::move(shape),
                                      normal_numbers(count, seed));
}

/// x, a matmul with an addition behind, a gemm that reads its weight transposed, a matmul with that
/// weight as it is, and one with a weight of few numbers.
Graph four_products() {
  Graph graph;
  const auto rows = [](std::int64_t n) {
    return TensorType{ElementType::float32, {inputs_of_sample, n}, nullptr};
  };
  const auto add = [&](std::string_view kind, std::vector<Value> operands, const std::string& name,
                       std::int64_t n, Attributes attributes = {}) {
    return Value{graph.add({.kind = std::string(kind),
                            .operands = std::move(operands),
                            .results = {{name, rows(n)}},
                            .attributes = std::move(attributes)})};
  };
  const Value x = graph.add_input("x", rows(width));
  const Value w = graph.add_constant("w", normal_constant({width, width}, 1));
  const Value tied = graph.add_constant("tied", normal_constant({2 * width, width}, 2));
  const Value few = graph.add_constant("few", normal_constant({width, 2}, 3));
  const Value a = add("matmul", {x, w}, "a", width);
  const Value b =
      add("add", {a, graph.add_constant("wb", normal_constant({width}, 4))}, "b", width);
  const Value c = add("gemm", {b, tied, graph.add_constant("tb", normal_constant({2 * width}, 5))},
                      "c", 2 * width, {{"transB", std::int64_t{1}}});
  const Value d = add("matmul", {c, tied}, "d", width);
  graph.add_output("out", add("matmul", {d, few}, "e", 2));
  graph.add_output("d_out", d);
  return graph;
}

MemoryData inputs_of(unsigned seed) {
  std::vector<Sample> made;
  for (unsigned i = 0; i < 3; ++i) {
    // Some channels are large, and two are nearly the same.
    std::vector<float> x = normal_numbers(inputs_of_sample * width, seed + i, 0.5F);
    for (std::int64_t row = 0; row < inputs_of_sample; ++row) {
      float* const values = x.data() + row * width;
      values[3] *= 20;
      values[5] = values[3] + values[5];
    }
    made.push_back(sample_of({inputs_of_sample, width}, x));
  }
  return MemoryData(std::move(made));
}

Graph quantized_of(const Graph& graph, WeightOnlyOptions options = {}) {
  options.bits = 4;
  return value_of(quantize_weight_only(graph, options)).graph;
}

std::vector<double> numbers_of(const Graph& graph, const MemoryData& samples,
                               std::string_view name) {
  const Value value = graph.find_value(name);
  REQUIRE(!value.is_absent());
  const auto loaded = value_of(Interpreter().load(graph, std::vector<Value>{value}));
  std::vector<double> made;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto results = value_of(run_model(*loaded, samples.sample(i)->inputs, 1));
    for (const float y : results.front().as<float>()) made.push_back(static_cast<double>(y));
  }
  return made;
}

double squares_between(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
  return sum;
}

const LowRankCorrected& corrected_of(const LowRankReport& report, std::string_view weight) {
  const auto found = std::ranges::find(report.corrected, weight, &LowRankCorrected::weight);
  REQUIRE(found != report.corrected.end());
  return *found;
}

/// Runs pieces of work from the last to the first.
class LastFirst final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    while (count > 0) body(--count);
  }
};

class EachOnItsThread final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  }
};

}  // namespace

TEST_CASE("the errors that are told are those of the results") {
  const Graph real = four_products();
  const MemoryData samples = inputs_of(100);
  const SecondMomentsTable moments = value_of(collect_second_moments(real, Interpreter(), samples));
  const Graph before = quantized_of(real);
  for (const bool has_moments : {true, false}) {
    Graph after = before;
    const LowRankReport report = value_of(
        correct_low_rank(after, real, {.rank = 3, .moments = has_moments ? &moments : nullptr}));
    REQUIRE(verify(after));
    CHECK(numbers_of(after, samples, "e").size() == std::size_t{2} * 3 * inputs_of_sample);
    const LowRankCorrected& w = corrected_of(report, "w");
    CHECK(w.rank == 3);
    CHECK(w.bytes == std::uint64_t{4} * 3 * (width + width));
    CHECK(w.after < w.before);
    if (!has_moments) continue;  // nearest to the weight: of results it says nothing
    const std::vector<double> exact = numbers_of(real, samples, "a");
    const double rows = 3 * inputs_of_sample;
    const double error_before = squares_between(exact, numbers_of(before, samples, "a")) / rows;
    const double error_after = squares_between(exact, numbers_of(after, samples, "a")) / rows;
    CHECK(error_after < 0.5 * error_before);
    CHECK(w.before == doctest::Approx(error_before).epsilon(1e-2));
    CHECK(w.after == doctest::Approx(error_after).epsilon(1e-2));
  }
}

TEST_CASE("factors of as large a rank as what codes miss leave the float results") {
  // Of rank 2 is what the weight has besides its codes.
  Graph real = four_products();
  const Graph before = quantized_of(real);
  const Value weight = real.find_value("w");
  const Constant coded =
      value_of(dequantized(*before.constant(weight.node), before.type(weight).quantization));
  std::vector<double> numbers = value_of(read_reals(coded));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t index = i / width;
    const auto row = static_cast<double>(index);
    const auto column = static_cast<double>(i % width);
    numbers[i] += 0.1 * (row - 3) * (column - 5) + 0.2 * std::sin(row) * std::cos(column);
  }
  real.set_constant(weight.node, rounded_constant(ElementType::float32, {width, width}, numbers));
  const MemoryData samples = inputs_of(200);
  const std::vector<double> exact = numbers_of(real, samples, "a");
  const SecondMomentsTable moments = value_of(collect_second_moments(real, Interpreter(), samples));
  const double lost = squares_between(exact, numbers_of(before, samples, "a"));
  for (const bool has_moments : {true, false}) {
    Graph after = before;
    REQUIRE(
        correct_low_rank(after, real, {.rank = 2, .moments = has_moments ? &moments : nullptr}));
    CHECK(squares_between(exact, numbers_of(after, samples, "a")) < 1e-9 * lost);
  }
}

TEST_CASE("a weight as whose floats factors would take as much keeps its codes") {
  const Graph real = four_products();
  Graph after = quantized_of(real);
  // 16 inputs and 32 results: of rank 10, the two factors are smaller than the floats.
  const LowRankReport report = value_of(correct_low_rank(after, real, {.rank = 10}));
  CHECK(corrected_of(report, "tied").rank == 10);
  REQUIRE(report.left.size() == 2);
  CHECK(report.left[0].name == "w");
  CHECK(report.left[0].reason == "its factors would take 1280 bytes, and it takes 1024 as floats");
  CHECK(report.left[1].name == "few");

  // Those of float16, in a layer of float32: twice the bytes for a number.
  const Graph cast = parsed(
      "graph {}\n%x: tensor<2x6xf32> = input()\n%h: tensor<6x6xf16> = constant() [1, 2, 3, 4, 5, "
      "7, 1.5, 2.5, 3, 4, 6, 8, -1, 2, -3.25, 4, 0.125, 7, 1, 1, 1, 1, 1, 1.25, 3, 2, 1, 0, -1, "
      "-2, 0.75, 6, 5, 4, 3, 2]\n%w: tensor<6x6xf32> = cast(%h) {to = 1}\n%y: tensor<2x6xf32> = "
      "matmul(%x, %w)\noutput(%y)\n");
  for (const std::size_t rank : {std::size_t{1}, std::size_t{2}}) {
    Graph made = quantized_of(cast);
    const LowRankReport of_cast = value_of(correct_low_rank(made, cast, {.rank = rank}));
    // 4 bytes, 12 numbers of a term; 2 bytes, 36 numbers.
    CHECK(of_cast.corrected.size() == (std::size_t{48} * rank < 72 ? 1 : 0));
  }
}

TEST_CASE("weights that factors cannot be added for are named, with why") {
  Graph graph;
  const auto add = [&](std::string_view kind, std::vector<Value> operands, const std::string& name,
                       Shape shape, Attributes attributes = {}) {
    return Value{graph.add({.kind = std::string(kind),
                            .operands = std::move(operands),
                            .results = {{name, {ElementType::float32, std::move(shape), nullptr}}},
                            .attributes = std::move(attributes)})};
  };
  const Value x = graph.add_input("x", {ElementType::float32, {inputs_of_sample, width}, nullptr});
  const Value scaled = graph.add_constant("scaled", normal_constant({width, width}, 1));
  const Value a = add("gemm", {x, scaled}, "a", {inputs_of_sample, width}, {{"alpha", 0.5}});
  const Value first = graph.add_constant("first", normal_constant({width, inputs_of_sample}, 2));
  const Value b = add("matmul", {first, a}, "b", {width, width});
  const Value parts = graph.add_constant("parts", normal_constant({4, width / 4, width}, 3));
  const Value extents = graph.add_constant(
      "extents",
      Constant::from_values<std::int64_t>(ElementType::int64, {2}, std::array{width, width}));
  const Value joined = add(ops::Reshape::kind, {parts, extents}, "joined", {width, width});
  graph.add_output("out", add("matmul", {b, joined}, "c", {width, width}));

  Graph blocks = quantized_of(graph, {.granularity = Granularity::Kind::block, .block_size = 8});
  const LowRankReport report = value_of(correct_low_rank(blocks, graph, {.rank = 2}));
  CHECK(report.corrected.empty());
  const auto why = [&](std::string_view name) {
    const auto found = std::ranges::find(report.left, name, &LeftAlone::name);
    return found == report.left.end() ? std::string() : found->reason;
  };
  CHECK(why("scaled") == "its layer multiplies by an `alpha`, too");
  CHECK(why("first") == "its layer multiplies it from the left");
  CHECK(why("parts") == "its codes are stored in the shape that it is given later");
}

TEST_CASE("the same with sums that are away, and in room for less than a weight") {
  const Graph real = four_products();
  const MemoryData samples = inputs_of(600);
  for (const std::size_t block : {SecondMoments::whole, std::size_t{5}, std::size_t{1}}) {
    SecondMomentsTable moments =
        value_of(collect_second_moments(real, Interpreter(), samples, {.block = block}));
    Graph wanted = quantized_of(real);
    Graph found = wanted;
    REQUIRE(correct_low_rank(wanted, real, {.rank = 3, .moments = &moments}));
    const auto file = value_of(ScratchFile::create("."));
    for (auto& [name, each] : moments.weights) REQUIRE(each.put_away(file));
    moments.room = std::make_shared<SharedRoom>(100);
    EachOnItsThread threads;
    REQUIRE(correct_low_rank(found, real, {.rank = 3, .moments = &moments, .executor = &threads}));
    CHECK(print_graph(found) == print_graph(wanted));
  }
}

TEST_CASE("layers that read a weight in two ways have factors each") {
  const Graph real = four_products();
  Graph after = quantized_of(real);
  const LowRankReport report = value_of(correct_low_rank(after, real, {.rank = 2}));
  CHECK(std::ranges::count(report.corrected, "tied", &LowRankCorrected::weight) == 2);
  const MemoryData samples = inputs_of(300);
  for (const std::string name : {"c", "d"}) {
    const std::vector<double> exact = numbers_of(real, samples, name);
    CHECK(squares_between(exact, numbers_of(after, samples, name)) <
          squares_between(exact, numbers_of(quantized_of(real), samples, name)));
  }
}

TEST_CASE("behind scales, too, and the same bytes in any order of the work") {
  const Graph real = four_products();
  const MemoryData samples = inputs_of(400);
  for (const auto form : {WeightOnlyOptions::Form::front, WeightOnlyOptions::Form::behind}) {
    Graph after = quantized_of(real, {.form = form});
    Graph again = after;
    const std::vector<double> exact = numbers_of(real, samples, "c");
    const double before = squares_between(exact, numbers_of(after, samples, "c"));
    REQUIRE(correct_low_rank(after, real, {.rank = 4}));
    REQUIRE(verify(after));
    CHECK(squares_between(exact, numbers_of(after, samples, "c")) < before);
    LastFirst backward;
    REQUIRE(correct_low_rank(again, real, {.rank = 4, .executor = &backward}));
    CHECK(print_graph(after) == print_graph(again));
  }
}

TEST_CASE("factors are of the type that the layer computes in") {
  Graph real = four_products();
  for (const ElementType element : {ElementType::float16, ElementType::float64}) {
    Graph typed = parsed("graph {}\n%x: tensor<2x6x" + std::string(to_string(element)) +
                         "> = input()\n%w: tensor<6x6x" + std::string(to_string(element)) +
                         "> = constant() [1, 2, 3, 4, 5, 7, 1.5, 2.5, 3, 4, 6, 8, -1, 2, -3.25, 4, "
                         "0.125, 7, 1, 1, 1, "
                         "1, 1, 1.25, 3, 2, 1, 0, -1, -2, 0.75, 6, 5, 4, 3, 2]\n%y: tensor<2x6x" +
                         std::string(to_string(element)) + "> = matmul(%x, %w)\noutput(%y)\n");
    Graph after = quantized_of(typed);
    const LowRankReport report = value_of(correct_low_rank(after, typed, {.rank = 1}));
    REQUIRE(report.corrected.size() == 1);
    CHECK(report.corrected[0].bytes == 12U * static_cast<unsigned>(byte_width(element)));
    REQUIRE(verify(after));
    CHECK(after.type(after.find_value("w_left")).element == element);
    CHECK(after.type(after.find_value("y")).element == element);
  }
}

TEST_CASE("biases are corrected for what a correction of low rank leaves") {
  const Graph real = four_products();
  const MemoryData samples = inputs_of(500);
  Graph after = quantized_of(real);
  REQUIRE(correct_low_rank(after, real, {.rank = 2}));
  const CorrectBiasReport corrected = value_of(correct_bias(after, real, Interpreter(), samples));
  CHECK(corrected.corrected.size() == 2);  // the addition behind the first, and the gemm's
  for (const std::string name : {"b", "c"}) {
    const std::vector<double> exact = numbers_of(real, samples, name);
    const std::vector<double> found = numbers_of(after, samples, name);
    double shift = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) shift += found[i] - exact[i];
    CHECK(std::fabs(shift / static_cast<double>(exact.size())) < 1e-4);
  }
}

TEST_CASE("a rank of 0 is refused") {
  const Graph real = four_products();
  Graph after = quantized_of(real);
  const auto refused = correct_low_rank(after, real, {.rank = 0});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

}  // namespace quadrant::test
