// Operations that only the graph's own rows know: a move and a product, by what they are.
#include "methods/own_operations.hpp"

#include <cmath>
#include <numeric>

#include "ir/scales.hpp"
#include "methods/weight_only/build.hpp"
#include "model_text.hpp"
#include "quadrant/engine/macros.hpp"

using namespace quadrant;
using build::by_operands;

namespace {

// y = dense(x, reverse(w), b)
struct Model {
  Graph graph;
  Value w, reversed, y;

  Model() {
    const Value x = build::input(graph, "x", {2, 3});
    w = build::weight(graph, "w", {4, 3});
    const Value b = build::weight(graph, "b", {4});
    reversed = build::node(graph, "tests.reverse", "reversed", {w});
    y = build::node(graph, "tests.dense", "y", {x, reversed, b});
    graph.add_output("y", y);
  }
};

std::vector<float> output(const Graph& graph) {
  const std::vector<Value> watched = output_values(graph);
  const Interpreter interpreter = own::interpreter();
  const auto model = test::value_of(interpreter.load(graph, watched));
  const std::vector<float> x{0.5F, -1, 2, 1.5F, 0.25F, -0.75F};
  const std::vector inputs{Tensor::from_values<float>(ElementType::float32, {2, 3}, x)};
  const auto tensors = test::value_of(run_model(*model, inputs, 1));
  const auto values = tensors[0].as<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("without a row, an operation is not known, and stays float") {
  Model model;
  const QuantizeResult result = build::quantize(model.graph, by_operands());
  CHECK(result.analysis.plan.values.empty());
  CHECK(result.graph.type(model.y).shape == Shape());
}

namespace {

struct Dense {
  static constexpr std::string_view kind = "tests.dense";
};

QUADRANT_CONSUMER(OwnDenseMethod, WeightOnly, Dense,
                  requires_parents(AnyState, AnyQuantizable, or_absent(AnyState))) {
  void request(NodeRef /*node*/, Asks& asks) const override {
    asks.benefit(1, Granularity::per_axis(0));
  }
};

}  // namespace

TEST_CASE("a method for the operation comes before what its row says") {
  Model model;
  const NodeRef dense = model.graph.ref(model.y.node);
  RegistryBuilder builder = RegistryBuilder::of(WeightOnly());
  WeightOnly::Registration(builder).add<OwnDenseMethod>();
  const Registry registry = test::value_of(std::move(builder).freeze());
  const Registry plain = test::value_of(weight_only_registry());
  CHECK(plain.find(dense) == nullptr);
  model.graph.set_operations(own::rows);
  REQUIRE(registry.find(dense) != nullptr);
  CHECK(registry.find(dense)->name() == "OwnDenseMethod");
  REQUIRE(plain.find(dense) != nullptr);
  CHECK(plain.find(dense)->name() == "ConvolutionMethod");
}

TEST_CASE("with its row, it has a shape, and is quantized by what it is") {
  for (const auto form : {WeightOnlyOptions::Form::front, WeightOnlyOptions::Form::behind}) {
    CAPTURE(static_cast<int>(form));
    Model model;
    model.graph.set_operations(own::rows);
    WeightOnlyOptions scheme;
    scheme.form = form;
    const std::vector<float> before = output(model.graph);
    const QuantizeResult result = build::quantize(model.graph, scheme, by_operands());
    CHECK(model.graph.type(model.y).shape == Shape{2, 4});

    // A scale a row, and the scales of the rows go where the rows go.
    const Value w = result.graph.find_value("w");
    REQUIRE(result.graph.constant(w.node) != nullptr);
    REQUIRE(result.graph.type(w).is_quantized());
    CHECK(result.graph.type(w).uniform()->granularity == Granularity::per_axis(0));
    std::vector<float> scales = test::value_of(read_scales(result.graph.type(w).uniform()->scales));
    Value moved;
    for (const Use& use : result.graph.uses(w.node)) {
      if (result.graph.kind(use.user) == "tests.reverse") moved = {use.user};
    }
    REQUIRE_FALSE(moved.is_absent());
    REQUIRE(result.graph.type(moved).is_quantized());
    std::ranges::reverse(scales);
    CHECK(test::value_of(read_scales(result.graph.type(moved).uniform()->scales)) == scales);

    // A weight is half a step off at most.
    const std::vector<float> after = output(result.graph);
    REQUIRE(after.size() == before.size());
    const std::array<double, 2> magnitudes{3.5, 2.5};  // of x, row by row
    for (std::size_t i = 0; i < after.size(); ++i) {
      const double bound = magnitudes[i / 4] * static_cast<double>(scales[i % 4]) / 2;
      CHECK(std::abs(static_cast<double>(after[i] - before[i])) <= bound + 1e-5);
    }
  }
}
