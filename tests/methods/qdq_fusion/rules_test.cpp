// One operation at a time between `dequantize` and `quantize`: fused, or refused with the reason.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "methods/qdq_fusion/fuse.hpp"

using namespace quadrant;
using test::fused;
using test::Fused;
using test::Kinds;

namespace {

// `%y` of type `shape` is computed by `line` from `%x` and `%z`, dequantized from codes of `in` of
// shape 1x2x4x4, and quantized as `out`.
std::string between(std::string_view in, std::string_view line, std::string_view out,
                    std::string_view shape = "1x2x4x4") {
  return fmt::format(R"(
graph {{opset = 21}}
%xq: tensor<1x2x4x4x!quant.uniform<{0}>> = input()
%zq: tensor<1x2x4x4x!quant.uniform<{0}>> = input()
%x: tensor<1x2x4x4xf32> = dequantize(%xq)
%z: tensor<1x2x4x4xf32> = dequantize(%zq)
{1}
%yq: tensor<{3}x!quant.uniform<{2}>> = quantize(%y)
output(%yq)
)",
                     in, line, out, shape);
}

std::string unary(std::string_view in, std::string_view operation, std::string_view out,
                  std::string_view attributes = "", std::string_view shape = "1x2x4x4") {
  return fmt::format(R"(
graph {{opset = 21}}
%xq: tensor<1x2x4x4x!quant.uniform<{0}>> = input()
%x: tensor<1x2x4x4xf32> = dequantize(%xq)
%y: tensor<{4}xf32> = {1}(%x) {3}
%yq: tensor<{4}x!quant.uniform<{2}>> = quantize(%y)
output(%yq)
)",
                     in, operation, out, attributes, shape);
}

std::string binary(std::string_view in, std::string_view operation, std::string_view out) {
  return between(in, fmt::format("%y: tensor<1x2x4x4xf32> = {}(%x, %z)", operation), out);
}

struct Case {
  std::string name;
  std::string text;
  Kinds kinds;
};

std::string joined(const Kinds& kinds) { return fmt::format("{}", fmt::join(kinds, " ")); }

void check_all(const std::vector<Case>& cases, KernelsTarget target = KernelsTarget::tflite) {
  for (const Case& one : cases) {
    CAPTURE(one.name);
    CHECK(joined(fused(one.text, target).kinds()) == joined(one.kinds));
  }
}

constexpr const char* pooling = "{kernel_shape = [2, 2], strides = [2, 2]}";

}  // namespace

TEST_CASE("operations with the same parameters in and out") {
  const auto same = [](std::string_view operation, std::string_view attributes,
                       std::string_view shape) {
    return unary("i8:f32, 0.1:5", operation, "i8:f32, 0.1:5", attributes, shape);
  };
  check_all({
      {"average", same("onnx.AveragePool", pooling, "1x2x2x2"), {"onnx.AveragePool"}},
      {"maximum", same("onnx.MaxPool", pooling, "1x2x2x2"), {"onnx.MaxPool"}},
      {"transpose", same("transpose", "{perm = [0, 2, 3, 1]}", "1x4x4x2"), {"transpose"}},
      {"flatten", same("flatten", "", "1x32"), {"flatten"}},
      {"space", same("onnx.SpaceToDepth", "{blocksize = 2}", "1x8x2x2"), {"onnx.SpaceToDepth"}},
      {"relu", same("onnx.Relu", "", "1x2x4x4"), {"onnx.Relu"}},
  });
}

TEST_CASE("where parameters change, codes are chosen first and requantized behind") {
  const auto changed = [](std::string_view operation, std::string_view attributes,
                          std::string_view shape) {
    return unary("i8:f32, 0.1:5", operation, "i8:f32, 0.2:-3", attributes, shape);
  };
  // A quarter of the elements is requantized after the pooling, not before it.
  check_all({{"maximum",
              changed("onnx.MaxPool", pooling, "1x2x2x2"),
              {"onnx.MaxPool", "dequantize", "quantize"}},
             {"average",
              changed("onnx.AveragePool", pooling, "1x2x2x2"),
              {"onnx.AveragePool", "dequantize", "quantize"}}});
  // Finer codes would cut off what the mean needs: it stays on real numbers.
  check_all({{"average",
              unary("i8:f32, 0.1:5", "onnx.AveragePool", "i8:f32, 0.02:-3", pooling, "1x2x2x2"),
              {"dequantize", "onnx.AveragePool", "quantize"}},
             {"linear",
              unary("i8:f32, 0.1:5", "onnx.Resize", "i8:f32, 0.02:-3", "{mode = \"linear\"}"),
              {"dequantize", "onnx.Resize", "quantize"}}});
  // The browsers' converter has no operation of its own to put in.
  check_all({{"maximum",
              changed("onnx.MaxPool", pooling, "1x2x2x2"),
              {"onnx.MaxPool", "dequantize", "quantize"}},
             {"average",
              changed("onnx.AveragePool", pooling, "1x2x2x2"),
              {"dequantize", "onnx.AveragePool", "quantize"}}},
            KernelsTarget::webnn);
}

TEST_CASE("operations with parameters of their own for each operand and the result") {
  check_all({
      {"add", binary("i8:f32, 0.1:5", "add", "i8:f32, 0.3:-9"), {"add"}},
      {"subtract", binary("u8:f32, 0.1:5", "onnx.Sub", "u8:f32, 0.3:9"), {"onnx.Sub"}},
      {"multiply", binary("i8:f32, 0.1:5", "multiply", "i8:f32, 0.03:-9"), {"multiply"}},
      {"as far as there is room", binary("i8:f32, 6.4:5", "add", "i8:f32, 0.1:-9"), {"add"}},
      {"relu", unary("i8:f32, 0.1:5", "onnx.Relu", "i8:f32, 0.3:-128"), {"onnx.Relu"}},
      {"swish", unary("i8:f32, 0.1:5", "onnx.HardSwish", "i8:f32, 0.3:-9"), {"onnx.HardSwish"}},
      {"16 bits", binary("i16:f32, 0.1", "add", "i16:f32, 0.3"), {"add"}},
  });
  const std::vector<std::pair<std::string, std::string>> refused{
      {binary("i8:f32, 0.1:5", "add", "u8:f32, 0.3:9"), "codes of different types meet"},
      {binary("i16:f32, 0.1:5", "add", "i16:f32, 0.3"), "codes of 16 bits must have zero point 0"},
      {binary("i8:f32, 300000.0:5", "add", "i8:f32, 1.0"),
       "the scales are too far apart for the kernel"},
      // 128 steps of the result for both operands together, in 16 bits.
      {binary("i8:f32, 6.5:5", "add", "i8:f32, 0.1"),
       "the scales are too far apart for the kernel"},
      {binary("i8<-127:127>:f32, 0.1", "add", "i8:f32, 1.0"),
       "its codes have a range of their own"},
  };
  for (const auto& [text, reason] : refused) {
    CAPTURE(text);
    const Fused result = fused(text);
    CHECK(result.kinds() == Kinds{"dequantize", "dequantize", "add", "quantize"});
    CHECK_MESSAGE(result.reason("add").ends_with(reason), result.reason("add"));
  }
}

TEST_CASE("a product of two bytes has half a step of the result for a step of it") {
  const Fused result = fused(binary("i8:f32, 0.1:5", "multiply", "i8:f32, 0.01:-9"));
  CHECK(result.kinds() == Kinds{"dequantize", "dequantize", "multiply", "quantize"});
  CHECK(result.reason("multiply").ends_with("the scales are too far apart for the kernel"));
  // What the browsers' converter says is its own.
  CHECK(
      fused(binary("i8:f32, 0.1:5", "multiply", "i8:f32, 0.01:-9"), KernelsTarget::webnn).kinds() ==
      Kinds{"multiply"});
}

TEST_CASE("kernels with a fixed result: what is asked for, or requantized where it is no finer") {
  check_all({
      {"sigmoid",
       unary("i8:f32, 0.1:5", "onnx.Sigmoid", "i8:f32, 0.00390625:-128"),
       {"onnx.Sigmoid"}},
      {"near", unary("i8:f32, 0.1:5", "onnx.Softmax", "i8:f32, 0.003907:-128"), {"onnx.Softmax"}},
      {"nearly", unary("i8:f32, 0.1:5", "onnx.Softmax", "i8:f32, 0.003905:-128"), {"onnx.Softmax"}},
      {"tanh", unary("u8:f32, 0.1:5", "onnx.Tanh", "u8:f32, 0.0078125:128"), {"onnx.Tanh"}},
      {"coarser",
       unary("i8:f32, 0.1:5", "onnx.Sigmoid", "i8:f32, 0.01:-100"),
       {"onnx.Sigmoid", "dequantize", "quantize"}},
      {"finer",
       unary("i8:f32, 0.1:5", "onnx.Sigmoid", "i8:f32, 0.002:-128"),
       {"dequantize", "onnx.Sigmoid", "quantize"}},
  });
  const Fused coarser = fused(unary("i8:f32, 0.1:5", "onnx.Sigmoid", "i8:f32, 0.01:-100"));
  CHECK(coarser.type("onnx.Sigmoid") == "tensor<1x2x4x4x!quant.uniform<i8:f32, 0.00390625:-128>>");
}

TEST_CASE("who reads the result decides: outputs, other readers, several quantizes") {
  const std::string add = "%y: tensor<1x2x4x4xf32> = add(%x, %z)\n";
  const std::vector<std::pair<std::string, std::string>> refused{
      {"output(%y)", "its float result is an output of the model"},
      {"%e: tensor<1x2x4x4xf32> = onnx.Erf(%y)\noutput(%e)",
       "its result is read as float, and not quantized"},
      {"%o: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.7>> = quantize(%y)\noutput(%o)",
       "the readers of its result quantize it differently"},
  };
  for (const auto& [reader, reason] : refused) {
    CAPTURE(reader);
    const Fused result = fused(between("i8:f32, 0.1:5", add + reader, "i8:f32, 0.3"));
    CHECK(result.reason("add") == reason);
  }
  const Fused twice = fused(
      between("i8:f32, 0.1:5",
              add + "%o: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.3>> = quantize(%y)\noutput(%o)",
              "i8:f32, 0.3"));
  CHECK(twice.kinds() == Kinds{"add"});
}

TEST_CASE("a dequantized value that others read as well is dequantized once, for them") {
  const Fused result = fused(between("i8:f32, 0.1:5",
                                     "%y: tensor<1x2x4x4xf32> = add(%x, %z)\n"
                                     "%e: tensor<1x2x4x4xf32> = onnx.Erf(%x)\noutput(%e)\n"
                                     "%f: tensor<1x2x4x4xf32> = onnx.Erf(%x)\noutput(%f)",
                                     "i8:f32, 0.3"));
  const Kinds kinds = result.kinds();
  CHECK(std::ranges::count(kinds, "dequantize") == 1);
  CHECK(std::ranges::count(kinds, "add") == 1);
  CHECK(std::ranges::count(kinds, "quantize") == 0);
}

TEST_CASE("what limits or chooses elements passes the quantization behind it on") {
  const Fused result =
      fused(between("i8:f32, 0.1:5",
                    "%s: tensor<1x2x4x4xf32> = add(%x, %z)\n"
                    "%r: tensor<1x2x4x4xf32> = onnx.Relu(%s)\n"
                    "%y: tensor<1x4x4x2xf32> = transpose(%r) {perm = [0, 2, 3, 1]}",
                    "i8:f32, 0.3:-128", "1x4x4x2"));
  CHECK(result.kinds() == Kinds{"add", "onnx.Relu", "transpose"});
  CHECK(result.type("add") == "tensor<1x2x4x4x!quant.uniform<i8:f32, 0.3:-128>>");
}

TEST_CASE("readers of codes: comparisons of the same parameters, the place of the largest") {
  const std::string compare = R"(
graph {{opset = 21}}
%xq: tensor<2x3x!quant.uniform<i8:f32, 0.1:5>> = input()
%zq: tensor<2x3x!quant.uniform<i8:f32, {}>> = input()
%x: tensor<2x3xf32> = dequantize(%xq)
%z: tensor<2x3xf32> = dequantize(%zq)
%y: tensor<2x3xi1> = onnx.Greater(%x, %z)
output(%y)
)";
  CHECK(fused(fmt::format(fmt::runtime(compare), "0.1:5")).kinds() == Kinds{"onnx.Greater"});
  const Fused other = fused(fmt::format(fmt::runtime(compare), "0.1:6"));
  CHECK(other.kinds() == Kinds{"dequantize", "dequantize", "onnx.Greater"});
  CHECK(other.reason("onnx.Greater") == "its operands have different parameters");
}

TEST_CASE("the browsers' rules are narrower") {
  check_all({{"16 bits",
              binary("i16:f32, 0.1", "add", "i16:f32, 0.3"),
              {"dequantize", "dequantize", "add", "quantize"}},
             {"far apart",
              binary("i8:f32, 30.0:5", "add", "i8:f32, 0.1"),
              {"dequantize", "dequantize", "add", "quantize"}},
             {"hard swish",
              unary("i8:f32, 0.1:5", "onnx.HardSwish", "i8:f32, 0.3:-9"),
              {"dequantize", "onnx.HardSwish", "quantize"}}},
            KernelsTarget::webnn);
}

TEST_CASE("targets of other schemes are refused") {
  const auto fused = quantize_qdq(Graph(), {.target = KernelsTarget::openvino_cpu});
  REQUIRE(!fused);
  CHECK(fused.error().code == ErrorCode::usage);
  CHECK(fused.error().message ==
        "qdq_fusion has no kernels of openvino-cpu to fuse operations for");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("names of 0.1 mean the same") {
  CHECK(parse_fusion_target("webnn") == KernelsTarget::webnn);
  CHECK(fuse_qdq(Graph(), {.target = FusionTarget::onnx_qoperator}));
}
#pragma GCC diagnostic pop
