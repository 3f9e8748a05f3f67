#include <map>

#include "quadrant/transforms/equalize.hpp"
#include "transforms/expected_relu.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

// Weights rounded to multiples of `step`, of all values but those in `kept`.
class Rounding {
 public:
  Rounding(const Graph& graph, double step) : graph_(&graph), step_(step) {}

  Expected<Constant> operator()(Value weight) const {
    std::vector<float> values = contents(*graph_, weight);
    for (float& value : values) value = static_cast<float>(std::floor(value / step_) * step_);
    return build::floats(graph_->type(weight).shape, values);
  }

 private:
  const Graph* graph_;
  double step_;
};

BiasCorrectionReport correct(Graph& graph, const MomentsTable& moments, double step = 0.25) {
  auto report = correct_bias_analytic(graph, moments, Rounding(graph, step));
  REQUIRE(report);
  return *std::move(report);
}

bool has_correction(const BiasCorrectionReport& report, std::string_view layer) {
  return std::ranges::any_of(report.corrected,
                             [&](const auto& correction) { return correction.layer == layer; });
}

}  // namespace

TEST_CASE("by hand") {
  ModelBuilder model;
  Value y = model.graph.add_input("x", build::f32({1, 1}));
  y = model.add("gemm", {y, model.constant({1, 2}, {1, 1})}, "a");
  y = model.add("onnx.Relu", {y});
  y = model.add("gemm", {y, model.constant({2, 1}, {1.2, 0.6}), model.constant({1}, {5})}, "b",
                {{"alpha", 2.0}});
  model.graph.add_output("out", y);
  const MomentsTable moments{{"a", {{0.5, 3}, {1, 0}}}};
  const BiasCorrectionReport report = correct(model.graph, moments);
  // 1.2 becomes 1 and 0.6 becomes 0.5.
  const double shift = 2 * (-0.2 * 0.697797 - 0.1 * 3);
  REQUIRE(report.corrected.size() == 1);
  CHECK(report.corrected[0].layer == "b");
  CHECK(report.corrected[0].shift.at(0) == doctest::Approx(shift).epsilon(1e-5));
  CHECK(operand_contents(model.graph, "b", 2).at(0) == doctest::Approx(5 - shift));
  REQUIRE(report.left.size() == 1);
  CHECK(report.left[0].name == "a");
  CHECK(report.left[0].reason.find("'x' does not follow") != std::string::npos);
  CHECK(operand_contents(model.graph, "b", 1) == to_floats({1.2, 0.6}));
}

TEST_CASE("the mean of what really happens") {
  // A first layer whose result is normally distributed, many samples, and each way to the second.
  using Between = Value (*)(ModelBuilder&, Value);
  const std::map<std::string, Between> ways{
      {"nothing", [](ModelBuilder&, Value x) { return x; }},
      {"Relu", [](ModelBuilder& m, Value x) { return m.add("onnx.Relu", {x}); }},
      {"Clip", [](ModelBuilder& m, Value x) { return m.clip(x, 0, 1); }},
      {"Clip below zero", [](ModelBuilder& m, Value x) { return m.clip(x, -0.5, 0.7); }},
      {"Relu and Min",
       [](ModelBuilder& m, Value x) {
         x = m.add("identity", {m.add("onnx.Relu", {x})});
         return m.add("onnx.Min", {m.constant({3, 1, 1}, {0.5, 1, 2}), x});
       }},
      {"Max",
       [](ModelBuilder& m, Value x) { return m.add("onnx.Max", {x, m.constant({1}, {0.3})}); }},
      {"a sum of two",
       [](ModelBuilder& m, Value x) { return m.add("add", {m.add("onnx.Relu", {x}), x}); }},
      {"a pool",
       [](ModelBuilder& m, Value x) {
         return m.add("onnx.GlobalAveragePool", {m.add("onnx.Relu", {x})});
       }},
  };
  for (const auto& [name, between] : ways) {
    CAPTURE(name);
    ModelBuilder model(5);
    const Shape shape{40, 3, 50, 50};
    const Value x = model.graph.add_input("x", build::f32(shape));
    // Three independent channels, of means and deviations as below.
    Value y = model.add(
        "conv",
        {x, model.constant({3, 1, 1, 1}, {1, 0.5, -2}), model.constant({3}, {0.5, -0.5, 1})}, "a",
        {{"group", std::int64_t{3}}});
    const MomentsTable moments{{"a", {{0.5, -0.5, 1}, {1, 0.5, 2}}}};
    y = model.conv(between(model, y), {.inputs = 3, .outputs = 4, .bias = false}, "b");
    model.graph.add_output("out", y);

    const std::vector<Tensor> inputs{random_tensor(shape, 1)};
    const auto means = [&](const Graph& graph) {
      Reals sums(4);
      const Reals values = outputs_of(graph, inputs);
      const std::size_t run = values.size() / 160;
      for (std::size_t i = 0; i < values.size(); ++i) sums[i / run % 4] += values[i];
      for (double& sum : sums) sum /= static_cast<double>(40 * run);
      return sums;
    };
    const auto with_rounded_weight = [&](Graph graph) {
      const NodeId layer = graph.find_value("b").node;
      graph.set_constant(graph.operands(layer)[1].node,
                         Rounding(graph, 0.25)(graph.operands(layer)[1]).value());
      return graph;
    };
    const Reals exact = means(model.graph);
    const Reals shifted = means(with_rounded_weight(model.graph));
    const BiasCorrectionReport report = correct(model.graph, moments);
    REQUIRE(has_correction(report, "b"));
    const Reals corrected = means(with_rounded_weight(model.graph));
    for (std::size_t c = 0; c < 4; ++c) {
      CHECK(std::abs(corrected[c] - exact[c]) < 0.005);
      CHECK(std::abs(corrected[c] - exact[c]) <= std::abs(shifted[c] - exact[c]) + 0.003);
    }
  }
}

TEST_CASE("inputs of unknown mean") {
  ModelBuilder model(6);
  Value y = model.graph.add_input("x", build::f32({1, 3, 4, 4}));
  y = model.conv(y, {.inputs = 3, .outputs = 3}, "a");
  const MomentsTable moments{{"a", {{1, 2, 3}, {1, 1, 1}}}};
  SUBCASE("an activation") { y = model.add("onnx.Sigmoid", {y}); }
  SUBCASE("a largest value") {
    y = model.add("onnx.MaxPool", {y}, {}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  }
  SUBCASE("a sum with something else") { y = model.add("add", {y, model.add("onnx.Neg", {y})}); }
  SUBCASE("another layer") { y = model.conv(y, {.inputs = 3, .outputs = 3}, "between"); }
  model.graph.add_output("out", model.conv(y, {.inputs = 3, .outputs = 2}, "b"));
  CHECK(!has_correction(correct(model.graph, moments), "b"));
}

TEST_CASE("flattened channels") {
  ModelBuilder model(7);
  Value y = model.graph.add_input("x", build::f32({1, 1, 2, 2}));
  y = model.conv(y, {.inputs = 1, .outputs = 2}, "a");
  y = model.add("flatten", {model.add("onnx.Relu", {y})});
  model.graph.add_output(
      "out", model.add("gemm", {y, model.constant({8, 1}, {.1, .1, .1, .1, .2, .2, .2, .2})}, "b"));
  const MomentsTable moments{{"a", {{3, 5}, {0, 0}}}};
  const BiasCorrectionReport report = correct(model.graph, moments);
  REQUIRE(has_correction(report, "b"));
  CHECK(report.corrected[0].shift.at(0) == doctest::Approx(-(4 * .1 * 3 + 4 * .2 * 5)));
}

TEST_CASE("what the callback says") {
  ModelBuilder model(8);
  Value y = model.graph.add_input("x", build::f32({1, 3, 4, 4}));
  y = model.conv(y, {.inputs = 3, .outputs = 3}, "a");
  model.graph.add_output("out", model.conv(y, {.inputs = 3, .outputs = 2}, "b"));
  const MomentsTable moments{{"a", {{1, 2, 3}, {1, 1, 1}}}};
  const auto none = correct_bias_analytic(model.graph, moments,
                                          [](Value) -> Expected<Constant> { return Constant(); });
  REQUIRE(none);
  CHECK(none->corrected.empty());
  CHECK(none->left.empty());
  const auto wrong = correct_bias_analytic(model.graph, moments, [](Value) -> Expected<Constant> {
    return build::zeros(ElementType::float32, {2, 3});
  });
  REQUIRE(!wrong);
  CHECK(wrong.error().code == ErrorCode::usage);
  CHECK(!wrong.error().place.tensor.empty());
  const auto failed = correct_bias_analytic(model.graph, moments, [](Value) -> Expected<Constant> {
    return fail(ErrorCode::io, "no disk");
  });
  REQUIRE(!failed);
  CHECK(failed.error().message == "no disk");
}
