// Parameters for the kernels of one runtime.
#include <doctest/doctest.h>

#include <string_view>

#include "build.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::Model;

namespace {

StaticAffineOptions for_openvino() {
  StaticAffineOptions options;
  options.kernels = KernelsTarget::openvino;
  return options;
}

StaticAffineOptions for_tflite(int bits) {
  StaticAffineOptions options;
  options.kernels = KernelsTarget::tflite;
  options.activations.bits = bits;
  return options;
}

// x -> conv -> operation -> conv
Model model_of(std::string_view operation) {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  const Value first = model.add("conv", {x, model.weight("w", {3, 3, 1, 1})}, "first");
  const Value made = model.add(std::string(operation), {first}, "made");
  model.output(model.add("conv", {made, model.weight("v", {3, 3, 1, 1})}, "last"));
  return model;
}

std::shared_ptr<const UniformType> type_made(const Model& model, StaticAffineOptions options,
                                             std::string_view name) {
  options.statistics = Model(model).statistics();
  const QuantizeResult result =
      test::quantized(model.graph, std::move(options), test::by_operands());
  auto type = test::type_of_codes(result.graph, name);
  REQUIRE(type != nullptr);
  return type;
}

}  // namespace

TEST_CASE("static_affine for LiteRT: results that kernels fix") {
  struct Case {
    std::string_view operation;
    int bits;
    float scale;
    std::int64_t zero_point;
  };
  // The table of the 8-bit specification, and the same of 16 bits.
  for (const Case& each :
       {Case{"onnx.Sigmoid", 8, 1.0F / 256, -128}, Case{"onnx.Softmax", 8, 1.0F / 256, -128},
        Case{"onnx.Sigmoid", 16, 1.0F / 32768, 0}, Case{"onnx.Softmax", 16, 1.0F / 32768, 0}}) {
    CAPTURE(each.operation);
    const auto type = type_made(model_of(each.operation), for_tflite(each.bits), "made");
    CHECK(test::scales_of(*type).front() == each.scale);
    CHECK(test::zero_points_of(*type).front() == each.zero_point);
  }
  StaticAffineOptions without_sign = for_tflite(8);
  without_sign.unsigned_activations = true;
  const auto type = type_made(model_of("onnx.Sigmoid"), without_sign, "made");
  CHECK(test::scales_of(*type).front() == 1.0F / 256);
  CHECK(test::zero_points_of(*type).front() == 0);
}

TEST_CASE("static_affine for LiteRT: what shares its parameters with others has those of all") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  const Value made = model.add("onnx.Sigmoid", {x}, "made");
  const Value moved =
      model.add("transpose", {made}, "moved", {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  model.output(model.add("conv", {moved, model.weight("v", {3, 3, 1, 1})}, "last"));
  CHECK(test::scales_of(*type_made(model, for_tflite(8), "made")).front() == 1.0F / 256);
  CHECK(test::scales_of(*type_made(model, for_tflite(8), "moved")).front() == 1.0F / 256);
}

TEST_CASE("static_affine for LiteRT: codes of 16 bits have no zero point, those of 8 bits have") {
  const auto of_16_bits = type_made(model_of("onnx.Sigmoid"), for_tflite(16), "first");
  CHECK(test::zero_points_of(*of_16_bits).front() == 0);
  const auto of_8_bits = type_made(model_of("onnx.Sigmoid"), for_tflite(8), "first");
  CHECK(test::zero_points_of(*of_8_bits).front() != 0);
  StaticAffineOptions without_sign = for_tflite(16);
  without_sign.unsigned_activations = true;
  const auto refused = StaticAffine::make(without_sign);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::impossible);
}

TEST_CASE("static_affine for OpenVINO: what it computes in real numbers is not made of codes") {
  for (const std::string_view operation : {"onnx.Sigmoid", "onnx.Softmax", "onnx.LeakyRelu"}) {
    CAPTURE(operation);
    Model model = model_of(operation);
    StaticAffineOptions options = for_openvino();
    options.statistics = model.statistics();
    const QuantizeResult result = test::quantized(model.graph, options, test::by_operands());
    // Its result is quantized for the product behind it, from real numbers.
    CHECK(test::reason(model.graph, result, "made") == "OpenVINO computes it in float");
    CHECK(test::type_of_codes(result.graph, "made") != nullptr);
  }
}

TEST_CASE("static_affine for OpenVINO: factors of two computed matrices have no zero points") {
  Model model;
  const Value x = model.input("x", {3, 3});
  const Value first = model.add("matmul", {x, model.weight("v", {3, 3})}, "first");
  const Value positive = model.add("onnx.Softmax", {first}, "positive");
  const Value product = model.add("matmul", {positive, first}, "product");
  model.output(model.add("matmul", {product, model.weight("w", {3, 3})}, "last"));
  const auto zero_point = [&](std::string_view name, StaticAffineOptions options = for_openvino()) {
    return test::zero_points_of(*type_made(model, std::move(options), name)).front();
  };
  CHECK(zero_point("first") == 0);        // a second factor: i8
  CHECK(zero_point("positive") == -128);  // u8, from zero on
  CHECK(zero_point("first", {}) != 0);
  // Beside a weight, zero points are the kernel's.
  CHECK(zero_point("x") == zero_point("x", {}));
  CHECK(zero_point("x") != 0);
}

TEST_CASE("a device's kernels are those of its runtime") {
  StaticAffineOptions options = for_tflite(8);
  options.kernels = KernelsTarget::webnn;
  CHECK(value_of(StaticAffine::make(options)).describe() ==
        value_of(StaticAffine::make(for_tflite(8))).describe());
  options.kernels = KernelsTarget::openvino_gpu;
  CHECK(value_of(StaticAffine::make(options)).describe() ==
        value_of(StaticAffine::make(for_openvino())).describe());
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("names of 0.1 mean the same") {
  CHECK(parse_affine_kernels("openvino") == AffineKernels::openvino);
  CHECK(quantize_static_affine(Graph(), {}));
}
#pragma GCC diagnostic pop
