// Sums of products: which weights are multiplied as codes, and how biases get into their scale.
#include <fmt/format.h>

#include "ir/scales.hpp"
#include "methods/qdq_fusion/fuse.hpp"

using namespace quadrant;
using test::fused;
using test::Fused;
using test::Kinds;

namespace {

// A convolution of two channels to three by a kernel of one element.
std::string convolution(std::string_view weight, std::string_view bias,
                        std::string_view data = "i8:f32, 0.05:3",
                        std::string_view result = "i8:f32, 0.1:-5") {
  return fmt::format(R"(
graph {{opset = 21}}
%xq: tensor<1x2x4x4x!quant.uniform<{2}>> = input()
%wq: tensor<3x2x1x1x!quant.uniform<{0}>> = constant() [1, 2, 3, 4, 5, 6]
{1}
%x: tensor<1x2x4x4xf32> = dequantize(%xq)
%w: tensor<3x2x1x1xf32> = dequantize(%wq)
%y: tensor<1x3x4x4xf32> = conv(%x, %w, {4})
%yq: tensor<1x3x4x4x!quant.uniform<{3}>> = quantize(%y)
output(%yq)
)",
                     weight, bias, data, result, bias.empty() ? "_" : "%b");
}

std::string coded_bias(std::string_view type) {
  return fmt::format(
      "%bq: tensor<3x!quant.uniform<{}>> = constant() [1000, -200, 30]\n"
      "%b: tensor<3xf32> = dequantize(%bq)",
      type);
}

struct Bias {
  std::vector<std::int64_t> codes;
  std::vector<float> scales;
};

Bias bias_of(const Fused& result) {
  const Graph& graph = result.graph();
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId id = graph.node_at(i);
    if (!id.is_valid() || graph.kind(id) != ops::Conv::kind) continue;
    const NodeRef node = graph.ref(id);
    REQUIRE(node.operand_constant(2) != nullptr);
    REQUIRE(node.operand_type(2)->is_quantized());
    CHECK(node.operand_type(2)->element == ElementType::int32);
    return {*read_integers(*node.operand_constant(2)),
            *read_scales(node.operand_type(2)->uniform()->scales)};
  }
  FAIL("there is no convolution");
  return {};
}

}  // namespace

TEST_CASE("a bias in the scale of the products stays as it is") {
  const Bias bias = bias_of(fused(convolution("i8:f32, 0.02", coded_bias("i32:f32, 0.001"))));
  CHECK(bias.codes == std::vector<std::int64_t>{1000, -200, 30});
  CHECK(bias.scales == std::vector<float>{0.001F});
}

TEST_CASE(
    "a bias in another scale, with a zero point, or in real numbers is rounded to that scale") {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> biases{
      {coded_bias("i32:f32, 0.002"), {2000, -400, 60}},
      {coded_bias("i32:f32, 0.001:30"), {970, -230, 0}},
      {"%b: tensor<3xf32> = constant() [0.0104, -1.0, 0.5]", {10, -1000, 500}},
  };
  for (const auto& [text, codes] : biases) {
    CAPTURE(text);
    const Fused result = fused(convolution("i8:f32, 0.02", text));
    CHECK(result.kinds() == Kinds{"conv"});
    const Bias bias = bias_of(result);
    CHECK(bias.codes == codes);
    CHECK(bias.scales.front() == doctest::Approx(0.001F));
  }
}

TEST_CASE("a weight with a scale for each channel gives the bias one for each") {
  const Fused result =
      fused(convolution("i8:f32:0, {0.02, 0.04, 0.08}", coded_bias("i32:f32, 0.001")));
  const Bias bias = bias_of(result);
  CHECK(bias.codes == std::vector<std::int64_t>{1000, -100, 8});  // 7.5 to even
  REQUIRE(bias.scales.size() == 3);
  CHECK(bias.scales[2] == doctest::Approx(0.004F));
}

TEST_CASE("weights that no kernel multiplies") {
  const std::vector<std::tuple<std::string, std::string, std::string>> refused{
      {"i8:f32, 0.02:5", "i8:f32, 0.05:3", "its weight has a zero point"},
      {"i8:f32:1, {0.02, 0.04}", "i8:f32, 0.05:3",
       "its weight has scales along another axis than the channels"},
      {"i8:f32:0, {0.02:1, 0.04:0, 0.05:0}", "i8:f32, 0.05:3", "its channels have zero points"},
      {"u8:f32, 0.02:5", "i8:f32, 0.05:3", "the kernel does not multiply codes of these types"},
      {"i16:f32, 0.02", "i8:f32, 0.05:3", "the kernel does not multiply codes of these types"},
  };
  for (const auto& [weight, data, reason] : refused) {
    CAPTURE(weight);
    const Fused result = fused(convolution(weight, "", data));
    CHECK(result.kinds() == Kinds{"dequantize", "dequantize", "conv", "quantize"});
    CHECK_MESSAGE(result.reason("conv").ends_with(reason), result.reason("conv"));
  }
  CHECK(fused(convolution("u8:f32, 0.02:128", "", "u8:f32, 0.05:3", "u8:f32, 0.1:9")).kinds() ==
        Kinds{"conv"});
  CHECK(fused(convolution("i4:f32:0, {0.02, 0.04, 0.08}", "")).kinds() == Kinds{"conv"});
  CHECK(fused(convolution("i8:f32, 0.02", "", "i16:f32, 0.05", "i16:f32, 0.1")).kinds() ==
        Kinds{"conv"});
}

TEST_CASE("scales of channels are followed through what moves the weight") {
  const Fused result = fused(R"(
graph {opset = 21}
%xq: tensor<5x2x!quant.uniform<i8:f32, 0.05:3>> = input()
%wq: tensor<3x2x!quant.uniform<i8:f32:0, {0.02, 0.04, 0.08}>> = constant() [1, 2, 3, 4, 5, 6]
%x: tensor<5x2xf32> = dequantize(%xq)
%w: tensor<3x2xf32> = dequantize(%wq)
%t: tensor<2x3xf32> = transpose(%w) {perm = [1, 0]}
%y: tensor<5x3xf32> = matmul(%x, %t)
%yq: tensor<5x3x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%y)
output(%yq)
)");
  CHECK(result.kinds() == Kinds{"transpose", "matmul"});
  CHECK(result.type("transpose") == "tensor<2x3x!quant.uniform<i8:f32:1, {0.02, 0.04, 0.08}>>");
}

TEST_CASE("real weights behind a quantize become codes") {
  const Fused result = fused(R"(
graph {opset = 21}
%xq: tensor<5x2x!quant.uniform<i8:f32, 0.05:3>> = input()
%r: tensor<2x3xf32> = constant() [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
%wq: tensor<2x3x!quant.uniform<i8:f32, 0.02>> = quantize(%r)
%x: tensor<5x2xf32> = dequantize(%xq)
%w: tensor<2x3xf32> = dequantize(%wq)
%y: tensor<5x3xf32> = matmul(%x, %w)
%yq: tensor<5x3x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%y)
output(%yq)
)");
  CHECK(result.kinds() == Kinds{"matmul"});
}

TEST_CASE("a bias that needs more than 32 bits leaves the sum in real numbers") {
  const std::string text =
      convolution("i8:f32, 0.00001", "%b: tensor<3xf32> = constant() [1e9, 0, 0]");
  const Fused result = fused(text);
  CHECK(result.kinds() == Kinds{"dequantize", "dequantize", "conv", "quantize"});
  CHECK_MESSAGE(result.reason("conv").ends_with("its bias needs more than 32 bits"),
                result.reason("conv"));
}

TEST_CASE("a constant that is added to a sum of products is its bias") {
  const auto text = [](std::string_view bias, std::string_view more = "") {
    return fmt::format(R"(
graph {{opset = 21}}
%xq: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.05:3>> = input()
%wq: tensor<3x2x1x1x!quant.uniform<i8:f32, 0.02>> = constant() [1, 2, 3, 4, 5, 6]
%b: {0}
%x: tensor<1x2x4x4xf32> = dequantize(%xq)
%w: tensor<3x2x1x1xf32> = dequantize(%wq)
%c: tensor<1x3x4x4xf32> = conv(%x, %w)
%y: tensor<1x3x4x4xf32> = add(%b, %c)
%yq: tensor<1x3x4x4x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%y)
output(%yq)
{1}
)",
                       bias, more);
  };
  const std::string list = "tensor<1x3x1x1xf32> = constant() [1, -0.2, 0.03]";
  const Fused result = fused(text(list));
  CHECK(result.kinds() == Kinds{"conv"});
  CHECK(bias_of(result).codes == std::vector<std::int64_t>{1000, -200, 30});
  CHECK(result.graph().contains(result.graph().find_value("yq").node));
  // For the browsers it stays an Add; and so it does where somebody else reads the sum, or where it
  // is no number for each channel.
  CHECK(fused(text(list), KernelsTarget::webnn).kinds() != Kinds{"conv"});
  CHECK(fused(text(list, "output(%c)")).kinds() != Kinds{"conv"});
  CHECK(fused(text("tensor<1x1x1x4xf32> = constant() [1, 2, 3, 4]")).kinds() != Kinds{"conv"});
}

TEST_CASE("a product of matrices with a constant behind it has that as its bias") {
  const Fused result = fused(R"(
graph {opset = 21}
%xq: tensor<2x3x!quant.uniform<i8:f32, 0.05>> = input()
%wq: tensor<3x2x!quant.uniform<i8:f32, 0.02>> = constant() [1, 2, 3, 4, 5, 6]
%list: tensor<2xf32> = constant() [1, -0.2]
%s: tensor<2xi64> = constant() [1, 2]
%b: tensor<1x2xf32> = reshape(%list, %s)
%x: tensor<2x3xf32> = dequantize(%xq)
%w: tensor<3x2xf32> = dequantize(%wq)
%m: tensor<2x2xf32> = matmul(%x, %w)
%y: tensor<2x2xf32> = add(%m, %b)
%yq: tensor<2x2x!quant.uniform<i8:f32, 0.1>> = quantize(%y)
output(%yq)
)");
  CHECK(result.kinds() == Kinds{"gemm"});
}
