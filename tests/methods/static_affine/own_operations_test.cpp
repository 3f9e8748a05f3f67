// Operations that only the graph's own rows know compute on codes where the library's would.
#include "methods/own_operations.hpp"

#include "ir/scales.hpp"
#include "methods/static_affine/build.hpp"

using namespace quadrant;
using namespace quadrant::test;

TEST_CASE("a product and a move of the graph's own compute on codes") {
  Model model;
  const Value x = model.input("x", {2, 3});
  const Value w = model.weight("w", {4, 3});
  const Value b = model.weight("b", {4});
  const Value v = model.weight("v", {5, 4});
  for (const bool is_known : {false, true}) {
    CAPTURE(is_known);
    Graph graph = model.graph;
    if (is_known) graph.set_operations(own::rows);
    const Value y = build::add(graph, "tests.dense", {x, w, b}, build::f32({2, 4}), {}, "y");
    const Value z = build::add(graph, "tests.reverse", {y}, build::f32({2, 4}), {}, "z");
    graph.add_output("last",
                     build::add(graph, "tests.dense", {z, v}, build::f32({2, 5}), {}, "last"));
    StaticAffineOptions options;
    const Interpreter interpreter = own::interpreter();
    std::vector<Sample> samples;
    for (int i = 0; i < 4; ++i) samples.push_back({model.sample()});
    options.statistics = std::make_shared<StatisticsTable>(
        value_of(calibrate(graph, interpreter, MemoryData(std::move(samples)))));
    const QuantizeResult result = quantized(graph, std::move(options), by_operands());
    CHECK(result.analysis.plan.values.empty() == !is_known);
    if (!is_known) continue;

    const auto type_of = [&](Value operand) {
      REQUIRE(result.graph.type(operand).is_quantized());
      return result.graph.type(operand).uniform();
    };
    const NodeRef dense = result.graph.ref(y.node);
    const auto data = type_of(dense.operand(0));
    const auto weight = type_of(dense.operand(1));
    const auto bias = type_of(dense.operand(2));
    CHECK(weight->granularity == Granularity::per_axis(0));
    CHECK(bias->storage == ElementType::int32);
    const float of_data = value_of(read_scales(data->scales)).front();
    const auto of_weights = value_of(read_scales(weight->scales));
    const auto of_bias = value_of(read_scales(bias->scales));
    REQUIRE(of_bias.size() == of_weights.size());
    for (std::size_t i = 0; i < of_bias.size(); ++i) {
      CHECK(of_bias[i] == doctest::Approx(of_data * of_weights[i]));
    }
    // The move hands on codes as they are.
    CHECK(type_of(result.graph.ref(z.node).operand(0)) == type_of(z));
  }
}
