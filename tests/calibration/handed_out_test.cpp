// Runtimes that do not do as they promise.
#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <utility>

#include "ir/build.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/calibration/sensitivity.hpp"
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

Graph one_relu() {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({4}));
  graph.add_output("y", build::add(graph, "onnx.Relu", {x}, build::f32({4}), {}, "r"));
  return graph;
}

}  // namespace

TEST_CASE("an output that is handed out otherwise than once is an error, and never a figure") {
  const Graph graph = one_relu();
  const auto samples = random_data_set(graph, 3, 1);
  for (const int times : {0, 1, 2, 3}) {
    CAPTURE(times);
    const Repeating runtime(times);
    const auto compared = compare(graph, graph, runtime, *samples);
    CHECK(compared.has_value() == (times == 1));
    const auto measured = measure_sensitivity(
        graph, std::vector<SensitivityLayer>{{"r"}},
        [&](std::size_t) -> Expected<Graph> { return graph; }, runtime, *samples, {},
        [] { return Expected<void>(); });
    CHECK(measured.has_value() == (times == 1));
    if (times == 1) continue;
    CHECK(compared.error().code == ErrorCode::usage);
    CHECK(compared.error().place.tensor == "y");
    CHECK(measured.error().place.tensor == "y");
  }
}
