// Codes without a sign, of which the codes with one stand for the same numbers.
#include <fmt/format.h>

#include "methods/qdq_fusion/fuse.hpp"

using namespace quadrant;
using test::fused;
using test::Fused;
using test::Kinds;

namespace {

// `%x`, quantized to u8 and moved, is convolved with `%wq` and quantized to u8 again.
std::string network(std::string_view weight, std::string_view more = "") {
  return fmt::format(R"(
graph {{opset = 21}}
%in: tensor<1x4x4x2xf32> = input()
%wq: tensor<3x2x1x1x!quant.uniform<{0}>> = constant() [1, 2, 3, 4, 5, 130]
%xq: tensor<1x4x4x2x!quant.uniform<u8:f32, 0.05:3>> = quantize(%in)
%tq: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.05:3>> = transpose(%xq) {{perm = [0, 3, 1, 2]}}
%x: tensor<1x2x4x4xf32> = dequantize(%tq)
%w: tensor<3x2x1x1xf32> = dequantize(%wq)
%c: tensor<1x3x4x4xf32> = conv(%x, %w)
%yq: tensor<1x3x4x4x!quant.uniform<u8:f32, 0.1:200>> = quantize(%c)
%y: tensor<1x3x4x4xf32> = dequantize(%yq)
output(%y)
{1})",
                     weight, more);
}

std::string with_a_sign(std::string_view more = "") {
  std::string text = network("i8:f32, 0.02", more);
  text.replace(text.find("130"), 3, "-30");
  return text;
}

// A second product of the same data, by a weight that only kernels of u8 multiply.
constexpr const char* second_product = R"(
%vq: tensor<3x2x1x1x!quant.uniform<u8:f32, 0.02:7>> = constant() [1, 2, 3, 4, 5, 6]
%v: tensor<3x2x1x1xf32> = dequantize(%vq)
%d: tensor<1x3x4x4xf32> = conv(%x, %v)
%dq: tensor<1x3x4x4x!quant.uniform<u8:f32, 0.1:200>> = quantize(%d)
%e: tensor<1x3x4x4xf32> = dequantize(%dq)
output(%e)
)";

std::string type_of(const Fused& result, std::string_view name) {
  const Value value = result.result.model.find_value(name);
  REQUIRE_MESSAGE(!value.is_absent(), name);
  return to_string(result.result.model.type(value));
}

}  // namespace

TEST_CASE(
    "data without a sign gets one where weights have one: the codes and zero points less 128") {
  const Fused result = fused(with_a_sign());
  CHECK(result.result.made_signed == 3);
  CHECK(result.kinds() == Kinds{"quantize", "transpose", "conv", "dequantize"});
  CHECK(type_of(result, "xq") == "tensor<1x4x4x2x!quant.uniform<i8:f32, 0.05:-125>>");
  CHECK(type_of(result, "tq") == "tensor<1x2x4x4x!quant.uniform<i8:f32, 0.05:-125>>");
  CHECK(type_of(result, "yq") == "tensor<1x3x4x4x!quant.uniform<i8:f32, 0.1:72>>");
  CHECK(type_of(result, "wq") == "tensor<3x2x1x1x!quant.uniform<i8:f32, 0.02>>");
}

TEST_CASE("a constant keeps the numbers that it stands for") {
  // Two products by weights with a sign, one by a weight whose middle is 128.
  const Fused result = fused(with_a_sign(R"(
%vq: tensor<3x2x1x1x!quant.uniform<u8:f32, 0.02:128>> = constant() [0, 2, 127, 128, 129, 255]
%v: tensor<3x2x1x1xf32> = dequantize(%vq)
%d: tensor<1x3x4x4xf32> = conv(%x, %v)
%dq: tensor<1x3x4x4x!quant.uniform<u8:f32, 0.1:200>> = quantize(%d)
%e: tensor<1x3x4x4xf32> = dequantize(%dq)
output(%e)
)"));
  const Graph& model = result.result.model;
  const Value weight = model.find_value("vq");
  CHECK(to_string(model.type(weight)) == "tensor<3x2x1x1x!quant.uniform<i8:f32, 0.02>>");
  CHECK(test::value_of(read_integers(*model.constant(weight.node))) ==
        std::vector<std::int64_t>{-128, -126, -1, 0, 1, 127});
}

TEST_CASE("nothing changes where that does not pay, or is not ours to change") {
  CHECK(fused(network("u8:f32, 0.02:7")).result.made_signed == 0);
  CHECK(fused(network("u8:f32, 0.02:128")).result.made_signed == 0);
  CHECK(fused(with_a_sign(second_product)).result.made_signed == 0);
  CHECK(fused(with_a_sign(), KernelsTarget::webnn).result.made_signed == 0);
  CHECK(fused(with_a_sign(), KernelsTarget::onnx_qoperator).result.made_signed == 0);

  // Codes that the model takes or gives are what its callers know, and this is the data.
  CHECK(fused(with_a_sign("output(%xq)\n")).result.made_signed == 0);
}

TEST_CASE("codes that the model gives keep their type where others change") {
  const Fused given = fused(with_a_sign("output(%yq)\n"));
  CHECK(given.result.made_signed == 2);
  CHECK(type_of(given, "xq") == "tensor<1x4x4x2x!quant.uniform<i8:f32, 0.05:-125>>");
  CHECK(type_of(given, "yq") == "tensor<1x3x4x4x!quant.uniform<u8:f32, 0.1:200>>");
}
