// Branches that meet in front of a reader that takes one scale.
#include <fmt/format.h>

#include "methods/fake_quantize/lower.hpp"

using namespace quadrant;
using test::gpu;
using test::kinds_of;
using test::lowered;
using test::parsed;
using test::type_of;

namespace {

// Two branches, [0, 2.55] and another range, of one channel each; what stands between is `middle`.
std::string meeting(std::string_view low, std::string_view high,
                    std::string_view middle = "%m: tensor<1x2x2x2xf32> = onnx.Relu(%s)") {
  return fmt::format(R"(
graph {{opset = 21}}
%x: tensor<1x1x2x2xf32> = input()
%y: tensor<1x1x2x2xf32> = input()
%l: tensor<f32> = constant() [0]
%h: tensor<f32> = constant() [2.55]
%a: tensor<1x1x2x2xf32> = fake_quantize(%x, %l, %h, %l, %h) {{levels = 256}}
%l2: tensor<f32> = constant() [{}]
%h2: tensor<f32> = constant() [{}]
%b: tensor<1x1x2x2xf32> = fake_quantize(%y, %l2, %h2, %l2, %h2) {{levels = 256}}
%s: tensor<1x2x2x2xf32> = concat(%a, %b) {{axis = 1}}
{}
%wc: tensor<4x2x1x1x!quant.uniform<i8:f32, 0.01>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%w: tensor<4x2x1x1xf32> = dequantize(%wc)
%c: tensor<1x4x2x2xf32> = conv(%m, %w)
output(%c)
)",
                     low, high, middle);
}

}  // namespace

TEST_CASE("each branch keeps its part of one grid") {
  const Graph model = parsed(meeting("0", "1.275"));
  const LowPrecision result = lowered(model, gpu);
  CHECK(type_of(result.graph, "a_quantized") == "tensor<1x1x2x2x!quant.uniform<u8:f32, 0.01>>");
  CHECK(type_of(result.graph, "b_quantized") ==
        "tensor<1x1x2x2x!quant.uniform<u8<0:128>:f32, 0.01>>");
  CHECK(kinds_of(result.graph) ==
        "quantize, storage_cast, storage_cast, quantize, concat, onnx.Relu, conv, dequantize");
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].reason ==
        "its 256 levels became 129, on one grid with the branches that it meets");
  // Half a step of .01 less half a step of .005 at most, through weights of up to .08; and
  // [0, 1.28].
  CHECK(test::distance(model, result.graph, 0, 3) < 0.0075 * 0.08 + 1e-4);
}

TEST_CASE("ranges with different zero points") {
  // Both of u8, as the CPU has them.
  const LowPrecision result = lowered(meeting("-1.28", "1.27"));
  const auto part = [&](std::string_view name) {
    const auto type = result.graph.type(result.graph.find_value(name)).uniform();
    return std::pair(type->storage_min, type->storage_max);
  };
  CHECK(part("a_quantized") == std::pair<std::int64_t, std::int64_t>{85, 255});
  CHECK(part("b_quantized") == std::pair<std::int64_t, std::int64_t>{0, 170});
  const auto type = result.graph.type(result.graph.find_value("a_quantized")).uniform();
  CHECK(read_scales(type->scales)->front() == doctest::Approx(0.0150196));
  CHECK(read_integers(type->zero_points)->front() == 85);
  CHECK(result.notes[0].reason.find("256 levels became 171") != std::string::npos);
}

TEST_CASE("a branch that would keep two levels is left alone, and the concat real") {
  const LowPrecision result = lowered(meeting("0", "0.01"));
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].name == "s");
  CHECK(result.notes[0].reason.ends_with(
      "a branch would keep two levels or fewer on a grid for all of them"));
  CHECK(test::distance(result.model, result.graph, 0, 3) < 1e-5);
}

TEST_CASE("codes of different types are not aligned") {
  const LowPrecision result = lowered(meeting("-1.28", "1.27"), gpu);
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].reason.ends_with("branches have codes of different types"));
}

TEST_CASE("readers of real numbers leave every branch what it is") {
  const LowPrecision result =
      lowered(meeting("0", "1.275", "%m: tensor<1x2x2x2xf32> = onnx.Sigmoid(%s)"));
  CHECK(result.notes.empty());
}

TEST_CASE("branches of the same parameters need no aligning") {
  const LowPrecision result = lowered(meeting("0", "2.55"));
  CHECK(result.notes.empty());
  CHECK(kinds_of(result.graph) == "quantize, quantize, concat, onnx.Relu, conv, dequantize");
}
