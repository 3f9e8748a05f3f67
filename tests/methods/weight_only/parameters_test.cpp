#include <cmath>
#include <limits>

#include "methods/weight_only/build.hpp"

using namespace quadrant;

namespace {

Graph linear(std::vector<std::int64_t> extents, float first = 1) {
  Graph graph;
  const Value x = build::input(graph, "x", {2, extents[0]});
  const Value w = build::weight(graph, "w", std::move(extents), [first](std::size_t i) {
    return i == 0 ? first : std::sin(static_cast<float>(i));
  });
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  return graph;
}

}  // namespace

TEST_CASE("codes and scales are what the definition says") {
  Graph graph = linear({20, 30});
  const auto original = graph.constant(graph.find_value("w").node)->read();
  const auto result = build::quantize(graph);
  const NodeId node = result.graph.find_value("w_quantized").node;
  const auto type = result.graph.type({node}).quantization;
  const auto codes = result.graph.constant(node)->read();
  const auto scales = type->scales.read();
  REQUIRE(codes.has_value());
  REQUIRE(scales.has_value());
  for (std::size_t column = 0; column < 30; ++column) {
    float largest = 0;
    for (std::size_t row = 0; row < 20; ++row) {
      largest = std::max(largest, std::fabs(original->as<float>()[row * 30 + column]));
    }
    CHECK(scales->as<float>()[column] == largest / 127.0F);
    for (std::size_t row = 0; row < 20; ++row) {
      const float real = original->as<float>()[row * 30 + column];
      const int code = codes->as<std::int8_t>()[row * 30 + column];
      CHECK(code >= -127);
      // Nothing is further off than half a step, and a little for the division.
      CHECK(std::fabs(static_cast<double>(code) * static_cast<double>(largest) / 127.0 -
                      static_cast<double>(real)) <=
            static_cast<double>(largest) / 127.0 * 0.500001);
    }
  }
}

TEST_CASE("NaN and infinity are named and refused, or left in float") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Graph graph = linear({20, 30}, bad);
    REQUIRE(infer_shapes(graph).has_value());
    const auto refused = quantize_weight_only(graph);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::impossible);
    CHECK(refused.error().place.tensor == "w");
    CHECK(refused.error().message.find("element 0 is") != std::string::npos);
    QuantizeOptions options;
    options.non_finite = NonFinitePolicy::leave_float;
    CHECK(build::planned(build::quantize(graph, options), "w") == "float");
  }
}

TEST_CASE("integer, scalar and empty constants are no weights") {
  Graph graph;
  const std::vector<std::int64_t> integers(4, 1);
  const Value n =
      graph.add_constant("n", Constant::from_values(ElementType::int64, Shape{2, 2},
                                                    std::span<const std::int64_t>(integers)));
  const Value s = build::weight(graph, "s", {});
  const Value e = build::weight(graph, "e", {0, 3});
  for (const Value value : {n, s, e}) {
    build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {2, 2}), value});
  }
  const auto analysis = analyze(graph, *weight_only_registry());
  REQUIRE(analysis.has_value());
  CHECK(analysis->plan.values.empty());
}

TEST_CASE("a weight whose scales take more than it saves stays float under the bytes gain") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 1});
  // One row: every column has its own scale.
  const Value w = build::weight(graph, "w", {1, 30});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  CHECK(build::planned(build::quantize(graph), "w") == "float");
  const UnitGain unit;
  QuantizeOptions options;
  options.gains = &unit;
  CHECK(build::planned(build::quantize(graph, options), "w") == "axis=1");
}

TEST_CASE("options that cannot be are refused") {
  const auto registry = weight_only_registry({.bits = 5});
  REQUIRE_FALSE(registry.has_value());
  CHECK(registry.error().code == ErrorCode::impossible);
  CHECK(registry.error().message.find("5 bits") != std::string::npos);
}

TEST_CASE("constraints print and parse") {
  CHECK(ChannelWise{3}.print() == "axis=3");
  CHECK(ChannelWise::parse("axis=3") == ChannelWise{3});
  for (const char* text : {"axis=", "axis=-1", "axis=3 ", "3", "", "axis=99999999999999999999"}) {
    CHECK_FALSE(ChannelWise::parse(text).has_value());
  }
}
