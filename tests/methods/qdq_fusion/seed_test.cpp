// The example of the WebNN seed, and what becomes of the parts of a chain.
#include "methods/qdq_fusion/fuse.hpp"

using namespace quadrant;
using test::fused;
using test::Kinds;

namespace {

constexpr std::string_view seed = R"(
graph {opset = 21}
%input: tensor<1x2x4x4xf32> = input()
%w: tensor<3x2x1x1x!quant.uniform<i8:f32, 0.02>> = constant() [1, 2, 3, 4, 5, 6]
%b: tensor<3x!quant.uniform<i32:f32, 0.001>> = constant() [10, -20, 30]
%xq: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.05:3>> = quantize(%input)
%xr: tensor<1x2x4x4xf32> = dequantize(%xq)
%wr: tensor<3x2x1x1xf32> = dequantize(%w)
%br: tensor<3xf32> = dequantize(%b)
%c: tensor<1x3x4x4xf32> = conv(%xr, %wr, %br)
%cq: tensor<1x3x4x4x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%c)
%cr: tensor<1x3x4x4xf32> = dequantize(%cq)
%p: tensor<1x3x2x2xf32> = onnx.AveragePool(%cr) {kernel_shape = [2, 2], strides = [2, 2]}
%pq: tensor<1x3x2x2x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%p)
%pr: tensor<1x3x2x2xf32> = dequantize(%pq)
output(%pr)
)";

}  // namespace

TEST_CASE("the seed's example is quantize, convolution, pooling, dequantize") {
  const auto result = fused(seed);
  CHECK(result.kinds() == Kinds{"quantize", "conv", "onnx.AveragePool", "dequantize"});
  CHECK(result.type("conv") == "tensor<1x3x4x4x!quant.uniform<i8:f32, 0.1:-5>>");
  CHECK(result.type("onnx.AveragePool") == "tensor<1x3x2x2x!quant.uniform<i8:f32, 0.1:-5>>");
}
