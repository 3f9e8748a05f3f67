// Codes that are part of their type, in formats that know none.
#include "methods/fake_quantize/lower.hpp"

using namespace quadrant;
using test::kinds_of;
using test::parsed;

TEST_CASE("limits on real numbers stand in for limits of codes") {
  for (const std::string_view type :
       {"i8<-127:127>:f32, 0.01", "u8<0:2>:f32, 0.5:1", "i8<-7:7>:f32:1, {0.1, 0.25}"}) {
    CAPTURE(type);
    const std::string codes = "tensor<1x2x3x3x!quant.uniform<" + std::string(type) + ">>";
    const Graph graph = parsed(
        "graph {opset = 21}\n%x: tensor<1x2x3x3xf32> = input()\n%q: " + codes +
        " = quantize(%x)\n%t: " + codes +
        " = onnx.MaxPool(%q) {kernel_shape = [1, 1]}\n%y: tensor<1x2x3x3xf32> = dequantize(%t)\n"
        "output(%y)\n");
    Graph limited = graph;
    CHECK(limit_before_quantize(limited).value() == 1);
    CHECK(kinds_of(limited) == "onnx.Max, onnx.Min, quantize, onnx.MaxPool, dequantize");
    const UniformType& whole = *limited.type(limited.find_value("q")).uniform();
    CHECK(whole.storage_max == integer_range(whole.storage)->max);
    CHECK(test::distance(graph, limited, -4, 4) == 0);
  }
}

TEST_CASE("stored codes that are moved keep their type: they are within its limits") {
  Graph graph = parsed(R"(
graph {opset = 21}
%w: tensor<2x1x!quant.uniform<u2:f32, 0.5:1>> = constant() [0, 3]
%t: tensor<1x2x!quant.uniform<u2:f32, 0.5:1>> = transpose(%w) {perm = [1, 0]}
%y: tensor<1x2xf32> = dequantize(%t)
output(%y)
)");
  CHECK(limit_before_quantize(graph).value() == 0);
  CHECK(declared_bits(*graph.type(graph.find_value("t")).uniform()) == 2);
}

TEST_CASE("codes that are all of their type are left alone") {
  Graph graph = parsed(R"(
graph {opset = 21}
%x: tensor<4xf32> = input()
%q: tensor<4x!quant.uniform<i8:f32, 0.01>> = quantize(%x)
%y: tensor<4xf32> = dequantize(%q)
output(%y)
)");
  CHECK(limit_before_quantize(graph).value() == 0);
  CHECK(kinds_of(graph) == "quantize, dequantize");
}
