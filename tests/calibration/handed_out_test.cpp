// Runtimes that do not do as they promise.
#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/build.hpp"
#include "model_text.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"

using namespace quadrant;

namespace {

// The interpreter, which hands out each value `times` times.
class Repeating final : public Runtime {
 public:
  explicit Repeating(int times) : times_(times) {}

  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const override {
    QUADRANT_TRY(std::unique_ptr<ModelExecutor> right, interpreter_.load(graph, watched));
    return std::make_unique<Executor>(std::move(right), times_);
  }

 private:
  class Executor final : public ModelExecutor {
   public:
    Executor(std::unique_ptr<ModelExecutor> right, int times)
        : right_(std::move(right)), times_(times) {}
    [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                     TensorObserver observe) const override {
      return right_->run(inputs, [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
        for (int time = 0; time < times_; ++time) QUADRANT_CHECK(observe(i, tensor));
        return {};
      });
    }

   private:
    std::unique_ptr<ModelExecutor> right_;
    int times_;
  };

  Interpreter interpreter_;
  int times_;
};

// r, of x, is the one value that a layer with a weight reads.
Graph one_product() {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value r = build::add(graph, "onnx.Relu", {x}, build::f32({1, 4}), {}, "r");
  const Value w = graph.add_constant("w", build::floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  graph.add_output("y", build::add(graph, "matmul", {r, w}, build::f32({1, 2}), {}, "y"));
  return graph;
}

// Whether it went through, which it may not where values came otherwise than once.
template <class T>
void check_refused(const Expected<T>& result, bool is_right, std::string_view tensor) {
  REQUIRE(result.has_value() == is_right);
  if (is_right) return;
  CHECK(result.error().code == ErrorCode::usage);
  CHECK(result.error().place.tensor == tensor);
}

}  // namespace

TEST_CASE("a value that is handed out otherwise than once is an error, and never a figure") {
  const Graph graph = one_product();
  const auto samples = random_data_set(graph, 3, 1);
  for (const int times : {0, 1, 2, 3}) {
    CAPTURE(times);
    const Repeating runtime(times);
    const bool is_right = times == 1;
    check_refused(compare(graph, graph, runtime, *samples), is_right, "y");
    check_refused(measure_sensitivity(
                      graph, std::vector<SensitivityLayer>{{"r"}},
                      [&](std::size_t) -> Expected<Graph> { return graph; }, runtime, *samples, {},
                      [] { return Expected<void>(); }),
                  is_right, "y");
    check_refused(calibrate(graph, runtime, *samples, {.values = {{graph.find_value("r"), {}}}}),
                  is_right, "r");
    check_refused(find_moments_grid(graph, runtime, *samples), is_right, "r");
  }
}

TEST_CASE("a value in a branch may be handed out any number of times") {
  const Graph graph = test::value_of(parse_graph(R"(graph {opset = 13}
%c: tensor<i1> = input()
%x: tensor<4xf32> = input()
%a: tensor<4xf32> = onnx.Relu(%x) {"onnx.region" = "if/then_branch"}
%b: tensor<4xf32> = onnx.Neg(%x) {"onnx.region" = "if/else_branch"}
%y: tensor<4xf32> = onnx.If(%c, %a, %b) {then_branch = "if/then_branch", else_branch = "if/else_branch", "onnx.yields" = [1, 1]}
output(%y)
)"));
  const auto samples = random_data_set(graph, 4, 1);
  CHECK(calibrate(graph, Interpreter(), *samples,
                  {.values = {{graph.find_value("a"), {}}, {graph.find_value("b"), {}}}})
            .has_value());
}

namespace {

// Hands out the sample as each of these values, by their places among those that are asked for.
class Scripted final : public Runtime {
 public:
  explicit Scripted(std::vector<std::size_t> places) : places_(std::move(places)) {}
  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& /*graph*/, std::span<const Value> /*watched*/) const override {
    return std::make_unique<Executor>(places_);
  }

 private:
  class Executor final : public ModelExecutor {
   public:
    explicit Executor(std::vector<std::size_t> places) : places_(std::move(places)) {}
    [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                     TensorObserver observe) const override {
      for (const std::size_t place : places_) QUADRANT_CHECK(observe(place, inputs[0]));
      return {};
    }

   private:
    std::vector<std::size_t> places_;
  };

  std::vector<std::size_t> places_;
};

Expected<StatisticsTable> calibrated(const Graph& graph, std::string_view value,
                                     std::vector<std::size_t> places) {
  const auto samples = random_data_set(graph, 1, 1);
  return calibrate(graph, Scripted(std::move(places)), *samples,
                   {.values = {{graph.find_value(value), {}}}});
}

}  // namespace

TEST_CASE("beside operations of one's own, which may be loops, inputs and outputs are checked") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({4}));
  const Value r = build::add(graph, "onnx.Relu", {x}, build::f32({4}), {}, "r");
  graph.add_output("y", build::add(graph, "own.loop", {r}, build::f32({4}), {}, "y"));
  CHECK(calibrated(graph, "r", {0, 0, 0}).has_value());
  for (const char* const border : {"x", "y"}) {
    check_refused(calibrated(graph, border, {0}), true, border);
    check_refused(calibrated(graph, border, {0, 0}), false, border);
  }
}

TEST_CASE("a value that nobody asked for is an error") {
  check_refused(calibrated(one_product(), "r", {0, 1}), false, "");
}
