// Files do not depend on the number of threads, nor on the processor.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "numerics/kernels/targets.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "shortened.hpp"
#include "temporary_folder.hpp"

namespace quadrant {
namespace {

Constant weights(const Shape& shape, std::mt19937& random) {
  std::normal_distribution<float> distribution(0, 0.02F);
  std::vector<float> values(static_cast<std::size_t>(shape.element_count().value()));
  for (float& value : values) value = distribution(random);
  return Constant::from_values<float>(ElementType::float32, shape, values);
}

// Products along both axes of odd extents, a convolution with short rows, and a table; a file of
// more than one piece.
Graph make_graph() {
  std::mt19937 random(1);
  Graph graph;
  const auto add = [&graph](std::string kind, const std::string& name, std::vector<Value> operands,
                            Shape shape, Attributes attributes = {}) {
    return Value{graph.add({.kind = std::move(kind),
                            .name = name,
                            .operands = std::move(operands),
                            .results = {{name, {ElementType::float32, std::move(shape), nullptr}}},
                            .attributes = std::move(attributes)})};
  };
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return graph.add_constant(name, weights(shape, random));
  };
  const Value x = graph.add_input("x", {ElementType::float32, {3, 1025}, nullptr});
  const Value first = add("matmul", "first", {x, weight("w", {1025, 1031})}, {3, 1031});
  const Value turned = add("transpose", "turned", {weight("v", {515, 1031})}, {1031, 515});
  graph.add_output("y", add("matmul", "second", {first, turned}, {3, 515}));
  const Value image = graph.add_input("image", {ElementType::float32, {1, 24, 7, 7}, nullptr});
  graph.add_output("z", add("conv", "conv", {image, weight("k", {40, 24, 3, 3})}, {1, 40, 5, 5}));
  return graph;
}

// As many threads as there are iterations, up to that number.
class Threads final : public Executor {
 public:
  explicit Threads(std::size_t threads) : threads_(threads) {}

  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::vector<std::jthread> running;
    for (std::size_t thread = 0; thread < std::min(threads_, count); ++thread) {
      running.emplace_back([thread, count, body, threads = threads_] {
        for (std::size_t i = thread; i < count; i += threads) body(i);
      });
    }
  }

 private:
  std::size_t threads_;
};

std::string file_of(const Graph& graph, const WeightOnlyOptions& options, bool matmul_nbits,
                    Executor* executor) {
  const test::TemporaryFolder folder;
  const auto result =
      quantize(graph, weight_only_registry(options).value(), {.executor = executor});
  REQUIRE(result);
  const auto report =
      write_onnx(result->graph, folder / "model.onnx",
                 {.executor = executor, .external_from = 1000, .matmul_nbits = matmul_nbits});
  REQUIRE(report);
  // The second one's name is a hash of its contents.
  return folder.read("model.onnx") + report->external_file + folder.read(report->external_file);
}

TEST_CASE("the same bytes for any number of threads and any kind of processor") {
  const Graph graph = make_graph();
  struct Setting {
    WeightOnlyOptions options;
    bool matmul_nbits = false;
  };
  using Kind = Granularity::Kind;
  const std::vector<Setting> settings{
      {{}},
      {{.symmetry = Symmetry::asymmetric}},
      {{.bits = 4}},
      {{.bits = 4, .granularity = Kind::block}},
      {{.bits = 4, .granularity = Kind::block, .clip = Clip::mse}},
      {{.bits = 4,
        .symmetry = Symmetry::signed_scale,
        .granularity = Kind::block,
        .scale_type = ElementType::float16,
        .clip = Clip::mse}},
      {{.bits = 4, .symmetry = Symmetry::asymmetric, .granularity = Kind::block}, true},
      {{.bits = 8, .granularity = Kind::tensor, .clip = Clip::minmax}},
  };
  test::Turns turns;
  for (const auto& [options, matmul_nbits] : settings) {
    CAPTURE(options.bits);
    const std::string expected = file_of(graph, options, matmul_nbits, nullptr);
    CHECK(expected.size() > 500'000);
    for (const std::size_t count : {1U, 2U, 5U}) {
      if (!turns.next()) continue;
      Threads threads(count);
      const bool is_equal = file_of(graph, options, matmul_nbits, &threads) == expected;
      CHECK(is_equal);
    }
    test::for_each_target([&] {
      if (!turns.next()) return;
      const bool is_equal = file_of(graph, options, matmul_nbits, nullptr) == expected;
      CHECK(is_equal);
    });
  }
}

}  // namespace
}  // namespace quadrant
