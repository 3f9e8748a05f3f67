#include "numerics/code_limits.hpp"

#include <doctest/doctest.h>

#include <string>

#include "helpers.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

/// Of a value of `shape`, quantized to `type`.
Graph quantized_graph(const std::string& shape, const std::string& type) {
  auto graph = parse_graph("%x: tensor<" + shape + "xf32> = input()\n%q: tensor<" + shape +
                           "x!quant.uniform<" + type + ">> = quantize(%x)\noutput(%q)\n");
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  return *std::move(graph);
}

struct LimitsFound {
  std::vector<float> low;
  std::vector<float> high;
  Shape shape;
};

LimitsFound limits_of(const std::string& type) {
  Graph graph = quantized_graph("2x3", type);
  const UniformType quantization = *graph.type(graph.find_value("q")).uniform();
  const NodeRef high =
      graph.ref(limited_to_codes(graph, graph.find_value("x"), quantization).value().node);
  const NodeRef low = graph.ref(high.operand(0).node);
  CHECK(high.kind() == "onnx.Min");
  CHECK(low.kind() == "onnx.Max");
  CHECK(low.operand(0) == graph.find_value("x"));
  return {test::contents<float>(*low.operand_constant(1)),
          test::contents<float>(*high.operand_constant(1)), low.operand_constant(1)->shape()};
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("limits are what the first and the last code stand for") {
  const LimitsFound one = limits_of("u4<1:14>:f32, 0.5:3");
  CHECK(one.low == Floats{-1});
  CHECK(one.high == Floats{5.5F});
  CHECK(one.shape == Shape::scalar());

  const LimitsFound channels = limits_of("i4<-7:7>:f32:1, {0.5, 1.0, -2.0}");
  CHECK(channels.low == Floats{-3.5F, -7, -14});
  CHECK(channels.high == Floats{3.5F, 7, 14});
  CHECK(channels.shape == Shape{1, 3});
}

TEST_CASE("which codes are part of their type") {
  const auto is_part = [](const std::string& type) {
    Graph graph = quantized_graph("2", type);
    return is_part_of_storage(*graph.type(graph.find_value("q")).uniform());
  };
  CHECK(is_part("i8<-127:127>:f32, 0.5"));
  CHECK(is_part("u4<0:14>:f32, 0.5"));
  CHECK_FALSE(is_part("i8:f32, 0.5"));
  CHECK_FALSE(is_part("u16:f32, 0.5"));
}

TEST_CASE("limits along an axis of what has no known rank are refused") {
  Graph graph = quantized_graph("2", "i4<-7:7>:f32:0, {0.5, 1.0}");
  const UniformType type = *graph.type(graph.find_value("q")).uniform();
  const Value unranked = graph.add_input("z", {ElementType::float32, {}, nullptr});
  const auto limited = limited_to_codes(graph, unranked, type);
  REQUIRE_FALSE(limited);
  CHECK(limited.error().code == ErrorCode::impossible);
}
