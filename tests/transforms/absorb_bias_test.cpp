#include <limits>

#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

AbsorptionReport absorb(Graph& graph, MomentsTable& moments,
                        const AbsorptionOptions& options = {}) {
  auto report = absorb_high_biases(graph, moments, options);
  REQUIRE(report);
  return *std::move(report);
}

// first -> Relu -> second, with the data that it is made for: far above zero in some channels.
struct Pair {
  ModelBuilder model;
  MomentsTable moments{{"first", {{8, 1, 30, -5}, {2, 1, 1, 1}}}};

  explicit Pair(const ConvShape& second, const char* between = "onnx.Relu") {
    Value y = model.graph.add_input("x", build::f32({2, 3, 5, 6}));
    y = model.add(
        "conv", {y, model.random_constant({4, 3, 1, 1}, 0.3), model.constant({4}, {8, 1, 30, -5})},
        "first");
    if (between) y = model.add(between, {y});
    model.graph.add_output("out", model.conv(y, second, "second"));
  }
};

const std::vector<Tensor> data{random_tensor({2, 3, 5, 6}, 1)};

}  // namespace

TEST_CASE("by hand") {
  ModelBuilder model;
  Value y = model.graph.add_input("x", build::f32({1, 1, 2, 2}));
  y = model.add("conv", {y, model.constant({2, 1, 1, 1}, {1, 2}), model.constant({2}, {9, 1})},
                "a");
  y = model.add("onnx.Relu", {y});
  y = model.add("conv", {y, model.constant({1, 2, 2, 1}, {2, 3, 7, 7})}, "b");
  model.graph.add_output("out", y);
  MomentsTable moments{{"a", {{8, 1}, {2, 1}}}};
  const AbsorptionReport report = absorb(model.graph, moments);
  REQUIRE(report.pairs.size() == 1);
  CHECK(report.pairs[0] == AbsorptionReport::Pair{"a", "b", {2, 0}, false});
  CHECK(report.obstacle.empty());
  CHECK(operand_contents(model.graph, "a", 2) == std::vector<float>{7, 1});
  CHECK(operand_contents(model.graph, "b", 2) == std::vector<float>{10});  // (2 + 3) 2
  CHECK(moments == MomentsTable{{"a", {{6, 1}, {2, 1}}}});
}

TEST_CASE("outputs stay where no channel falls below c") {
  for (const ConvShape& second : {ConvShape{.inputs = 4, .outputs = 3, .kernel = 3},
                                  ConvShape{.inputs = 4, .outputs = 6, .kernel = 2, .groups = 2},
                                  ConvShape{.inputs = 4, .outputs = 4, .groups = 4, .bias = false},
                                  ConvShape{.inputs = 4, .outputs = 3, .kernel = 3, .stride = 2}}) {
    Pair pair(second);
    const Reals before = outputs_of(pair.model.graph, data);
    const AbsorptionReport report = absorb(pair.model.graph, pair.moments);
    REQUIRE(report.pairs.size() == 1);
    CHECK(report.pairs[0].absorbed == Reals{2, 0, 27, 0});
    CHECK(relative_error(before, outputs_of(pair.model.graph, data)) < 1e-5);
    CHECK(pair.moments.at("first").mean == Reals{6, 1, 3, -5});
    CHECK(absorb(pair.model.graph, pair.moments).pairs.empty());  // nothing is left to absorb
  }
}

TEST_CASE("without an activation all of it is exact") {
  Pair pair({.inputs = 4, .outputs = 3, .kernel = 3}, nullptr);
  pair.moments.at("first").mean = {1000, 1000, 1000, 1000};
  const Reals before = outputs_of(pair.model.graph, data);
  const AbsorptionReport report = absorb(pair.model.graph, pair.moments);
  REQUIRE(report.pairs.size() == 1);
  CHECK(report.pairs[0].is_exact);
  CHECK(relative_error(before, outputs_of(pair.model.graph, data)) < 1e-4);  // 1000 was added
}

TEST_CASE("smallest values that were seen") {
  Pair pair({.inputs = 4, .outputs = 3, .kernel = 3});
  // Of the result before its activation, by the interpreter.
  const std::vector<Value> watched{pair.model.graph.find_value("first")};
  const auto loaded = Interpreter().load(pair.model.graph, watched);
  REQUIRE(loaded);
  const auto seen = run_model(**loaded, data, 1);
  REQUIRE(seen);
  Reals minima(4, 1e30);
  const auto values = (*seen)[0].as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& least = minima[i / 30 % 4];
    least = std::min<double>(least, values[i]);
  }
  CHECK(minima[2] > 20);
  const ChannelMinima table{{"first", minima}};

  // The moments claim more than holds: with them outputs change.
  pair.moments.at("first") = {{60, 60, 60, 60}, {1, 1, 1, 1}};
  Graph by_moments = pair.model.graph;
  MomentsTable copy = pair.moments;
  const Reals before = outputs_of(pair.model.graph, data);
  CHECK(!absorb(by_moments, copy).pairs.at(0).is_exact);
  CHECK(relative_error(before, outputs_of(by_moments, data)) > 0.01);

  const AbsorptionReport report = absorb(pair.model.graph, pair.moments, {.minima = &table});
  REQUIRE(report.pairs.size() == 1);
  CHECK(report.pairs[0].is_exact);
  for (std::size_t c = 0; c < 4; ++c)
    CHECK(report.pairs[0].absorbed[c] == std::max(0.0, minima[c]));
  CHECK(relative_error(before, outputs_of(pair.model.graph, data)) < 1e-5);

  MomentsTable none;
  Pair same({.inputs = 4, .outputs = 3, .kernel = 3});
  CHECK(absorb(same.model.graph, none, {.minima = &table}).pairs.size() == 1);
}

TEST_CASE("padding") {
  const auto left = [](Pair& pair) {
    const Reals before = outputs_of(pair.model.graph, data);
    const AbsorptionReport report = absorb(pair.model.graph, pair.moments);
    CHECK(report.pairs.empty());
    CHECK(before == outputs_of(pair.model.graph, data));
    return report.left;
  };
  SUBCASE("zeros around") {
    Pair pair({.inputs = 4, .outputs = 3, .kernel = 3, .pad = 1});
    const auto reasons = left(pair);
    REQUIRE(reasons.size() == 1);
    CHECK(reasons[0].name == "first");
    CHECK(contains(reasons[0].reason, "'second' cannot absorb it: it pads its input with zeros"));
  }
  SUBCASE("zeros around, and nothing to absorb") {
    Pair pair({.inputs = 4, .outputs = 3, .kernel = 3, .pad = 1});
    pair.moments.at("first").mean = {0, 1, 2, 3};
    CHECK(left(pair).empty());
  }
  SUBCASE("as many as needed") {
    Pair pair({.inputs = 4, .outputs = 3, .kernel = 3});
    pair.model.graph.set_attribute(pair.model.graph.find_value("second").node, "auto_pad",
                                   std::string("SAME_UPPER"));
    pair.model.graph.erase_attribute(pair.model.graph.find_value("second").node, "pads");
    CHECK(left(pair).size() == 1);
  }
  SUBCASE("a kernel of one element needs none") {
    Pair pair({.inputs = 4, .outputs = 3});
    pair.model.graph.set_attribute(pair.model.graph.find_value("second").node, "auto_pad",
                                   std::string("SAME_UPPER"));
    pair.model.graph.erase_attribute(pair.model.graph.find_value("second").node, "pads");
    const Reals before = outputs_of(pair.model.graph, data);
    CHECK(absorb(pair.model.graph, pair.moments).pairs.size() == 1);
    CHECK(relative_error(before, outputs_of(pair.model.graph, data)) < 1e-5);
  }
}

TEST_CASE("only a Relu may lie between") {
  Pair pair({.inputs = 4, .outputs = 3}, "onnx.LeakyRelu");
  const AbsorptionReport report = absorb(pair.model.graph, pair.moments);
  CHECK(report.pairs.empty());
  REQUIRE(report.left.size() == 1);
  CHECK(contains(report.left[0].reason, "(onnx.LeakyRelu) lies between"));
}

TEST_CASE("a bound by channel falls with the bias, and keeps what lies above it") {
  ModelBuilder model(9);
  Value y = model.graph.add_input("x", build::f32({2, 3, 5, 6}));
  y = model.add("conv",
                {y, model.random_constant({4, 3, 1, 1}, 0.3), model.constant({4}, {9, 9, 12, -5})},
                "a");
  y = model.add("onnx.Min", {model.add("onnx.Relu", {y}), model.constant({4, 1, 1}, {10, 3, 9, 4})},
                "bounded");
  model.graph.add_output("out", model.conv(y, {.inputs = 4, .outputs = 3, .kernel = 2}, "b"));
  const Reals before = outputs_of(model.graph, data);
  MomentsTable moments{{"a", {{6, 6, 9, -5}, {2, 1, 1, 1}}}};
  const AbsorptionReport report = absorb(model.graph, moments, {.deviations = 2});
  CHECK(report.pairs.at(0).absorbed == Reals{2, 3, 7, 0});
  CHECK(operand_contents(model.graph, "bounded", 1) == std::vector<float>{8, 0, 2, 4});
  CHECK(relative_error(before, outputs_of(model.graph, data)) < 1e-5);
}

TEST_CASE("a transposed convolution is left") {
  ModelBuilder model;
  Value y = model.graph.add_input("x", build::f32({1, 2, 3, 3}));
  y = model.add("onnx.Relu", {model.conv(y, {.inputs = 2, .outputs = 2}, "a")});
  y = model.conv_transpose(y, {.inputs = 2, .outputs = 2, .kernel = 3}, "b");
  model.graph.add_output("out", y);
  MomentsTable moments{{"a", {{9, 9}, {1, 1}}}};
  const AbsorptionReport report = absorb(model.graph, moments);
  REQUIRE(report.left.size() == 1);
  CHECK(contains(report.left[0].reason, "transposed"));
}

TEST_CASE("a flattened image, and alpha") {
  ModelBuilder model(3);
  Value y = model.graph.add_input("x", build::f32({2, 2, 3, 3}));
  y = model.add("conv",
                {y, model.random_constant({3, 2, 1, 1}, 0.1),
                 model.constant(
                     {
                         1,
                     },
                     {9})},
                "refused");
  model.graph.set_operand(y.node, 2, model.constant({3}, {9, 9, 9}));
  y = model.add("onnx.Relu", {y});
  y = model.add(
      "gemm",
      {model.add("flatten", {y}), model.random_constant({27, 4}), model.random_constant({4})}, "b",
      {{"alpha", -0.5}, {"beta", 2.0}});
  model.graph.add_output("out", y);
  MomentsTable moments{{"refused", {{9, 9, 9}, {1, 2, 3}}}};
  const std::vector<Tensor> inputs{random_tensor({2, 2, 3, 3}, 1)};
  const Reals before = outputs_of(model.graph, inputs);
  CHECK(absorb(model.graph, moments).pairs.at(0).absorbed == Reals{6, 3, 0});
  CHECK(relative_error(before, outputs_of(model.graph, inputs)) < 1e-5);
}

TEST_CASE("a model without moments") {
  Pair pair({.inputs = 4, .outputs = 3});
  MomentsTable none;
  const AbsorptionReport report = absorb(pair.model.graph, none);
  CHECK(report.pairs.empty());
  CHECK(contains(report.obstacle, "no batch normalization whose beta and gamma are known"));
  CHECK(contains(report.obstacle, "still has its normalizations"));
}

TEST_CASE("tables that do not fit, numbers that are none") {
  Pair pair({.inputs = 4, .outputs = 3});
  pair.moments.at("first") = {{100}, {1}};
  const AbsorptionReport report = absorb(pair.model.graph, pair.moments);
  REQUIRE(report.left.size() == 1);
  CHECK(contains(report.left[0].reason, "another number of channels"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  pair.moments.at("first") = {{nan, 100, 1e300, 0}, {1, nan, 1e300, nan}};
  CHECK(absorb(pair.model.graph, pair.moments).pairs.empty());
  const auto refused = absorb_high_biases(pair.model.graph, pair.moments, {.deviations = nan});
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("fold, equalize, absorb") {
  std::size_t absorbed = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    ModelBuilder model(seed, 3);
    Value y = model.graph.add_input("x", build::f32({2, 3, 9, 9}));
    std::int64_t channels = 3;
    for (int layer = 0; layer < 3; ++layer) {
      const std::int64_t outputs = 2 + model.random_index(4);
      y = model.conv(y, {.inputs = channels, .outputs = outputs, .kernel = 3, .bias = false});
      // Normalized for real: what a channel falls to is known.
      const Shape shape{outputs};
      y = model.add("onnx.BatchNormalization",
                    {y, model.random_constant(shape, 0.1, 0.3), model.random_constant(shape, 3, 1),
                     model.constant(shape, Reals(static_cast<std::size_t>(outputs), 0)),
                     model.constant(shape, Reals(static_cast<std::size_t>(outputs), 400))});
      y = model.add("onnx.Relu", {y});
      channels = outputs;
    }
    model.graph.add_output("out", y);
    const std::vector<Tensor> inputs{random_tensor({2, 3, 9, 9}, seed)};
    const Reals before = outputs_of(model.graph, inputs);
    auto folded = fold_batch_norm(model.graph);
    REQUIRE(folded);
    REQUIRE(equalize(model.graph, folded->moments));
    const AbsorptionReport report = absorb(model.graph, folded->moments);
    for (const auto& pair : report.pairs) {
      for (const double c : pair.absorbed) absorbed += c > 0 ? 1U : 0U;
    }
    const Reals after = outputs_of(model.graph, inputs);
    CHECK(relative_error(before, after) < 0.05);  // moments are of no data here
  }
  CHECK(absorbed > 20);
}
