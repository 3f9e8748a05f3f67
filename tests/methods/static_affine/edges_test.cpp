// Where numbers are extreme, or say nothing: safe results, or reasons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "build.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/text.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::first_output;
using quadrant::test::Model;
using quadrant::test::planned;

namespace {

// y = conv(x, w, b), 1x1, with a weight and a bias of the caller's.
Model conv_model(const std::vector<float>& weight, const std::vector<float>& bias,
                 std::int64_t inputs = 2) {
  Model model;
  const auto outputs = static_cast<std::int64_t>(bias.size());
  const Value x = model.input("x", {1, inputs, 4, 4});
  const Value w = model.constant("w", {outputs, inputs, 1, 1}, weight);
  const Value b = model.constant("b", {outputs}, bias);
  model.output(model.add("conv", {x, w, b}, "y"));
  return model;
}

const UniformType& type_of(const QuantizeResult& result, std::string_view name) {
  const Value value = result.graph.find_value(name);
  REQUIRE_FALSE(value.is_absent());
  REQUIRE(result.graph.type(value).is_quantized());
  return *result.graph.type(value).uniform();
}

std::vector<float> scales_of(const QuantizeResult& result, std::string_view name) {
  return test::value_of(read_scales(type_of(result, name).scales));
}

// The largest difference between the float model and what was made of it, on fresh samples.
float largest_error(Model& model, const QuantizeResult& result) {
  float largest = 0;
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> inputs = model.sample();
    const auto real = first_output(model.graph, inputs);
    const auto found = first_output(result.graph, inputs);
    for (std::size_t k = 0; k < real.size(); ++k) {
      REQUIRE(std::isfinite(found[k]));
      largest = std::max(largest, std::abs(real[k] - found[k]));
    }
  }
  return largest;
}

Tensor same_everywhere(const Shape& shape, float value) {
  const std::vector<float> values(static_cast<std::size_t>(*shape.element_count()), value);
  return Tensor::from_values<float>(ElementType::float32, shape, values);
}

std::shared_ptr<StatisticsTable> statistics_on(const Graph& graph, std::vector<Tensor> inputs) {
  std::vector<Sample> samples;
  samples.push_back({std::move(inputs)});
  return std::make_shared<StatisticsTable>(
      test::value_of(calibrate(graph, Interpreter(), MemoryData(std::move(samples)))));
}

}  // namespace

TEST_CASE("static_affine: a channel of zeros has a scale, and gives its bias") {
  Model model = conv_model({0, 0, 0.5F, -1}, {0.75F, 0.25F});
  const QuantizeResult result = test::quantized_by_operands(model);
  CHECK(planned(result, "w") == "weight i8 axis=0");
  for (const float scale : scales_of(result, "w")) CHECK(scale > 0);
  CHECK(largest_error(model, result) < 0.1F);
}

TEST_CASE("static_affine: inputs that are constant, zero throughout among them") {
  for (const float value : {0.0F, 2.0F, -3.0F}) {
    CAPTURE(value);
    Model model = conv_model({1, 2, 0.5F, -1}, {0.5F, 0});
    const Tensor input = same_everywhere({1, 2, 4, 4}, value);
    const auto statistics = statistics_on(model.graph, {input});
    const QuantizeResult result = test::quantized_by_operands(model, {.statistics = statistics});
    const auto real = first_output(model.graph, {input});
    const auto found = first_output(result.graph, {input});
    for (std::size_t i = 0; i < real.size(); ++i) {
      CHECK(found[i] == doctest::Approx(real[i]).epsilon(0.02));
    }
  }
}

TEST_CASE("static_affine: one sample is enough") {
  Model model = conv_model({1, 2, 0.5F, -1}, {0.5F, 0});
  const QuantizeResult result =
      test::quantized_by_operands(model, {.statistics = model.statistics(1)});
  CHECK(planned(result, "y") == "activation i8");
}

TEST_CASE("static_affine: a bias beyond 32 bits raises the scale of its channel's weights") {
  // 1e9 / (s_x s_w) would be about 1e9 / (0.03 * 1e-11 / 127), 4e22.
  Model model = conv_model({1e-11F, 1e-11F, 0.5F, -1}, {1e9F, 0.25F});
  const QuantizeResult result = test::quantized_by_operands(model);
  const auto scales = scales_of(result, "b");
  const Constant& codes = *result.graph.constant(result.graph.find_value("b").node);
  const auto values = test::value_of(read_integers(codes));
  REQUIRE(values.size() == 2);
  CHECK(std::abs(values[0]) <= (std::int64_t{1} << 30U));
  CHECK(static_cast<double>(values[0]) * static_cast<double>(scales[0]) ==
        doctest::Approx(1e9).epsilon(1e-6));
  // The other channel is as it would be without.
  CHECK(scales_of(result, "w")[1] == doctest::Approx(1.0 / 127));
  const std::vector<Tensor> inputs = model.sample();
  const auto real = first_output(model.graph, inputs);
  const auto found = first_output(result.graph, inputs);
  for (std::size_t i = 0; i < real.size() / 2; ++i) {
    CHECK(found[i] == doctest::Approx(real[i]).epsilon(0.01));
  }
}

TEST_CASE("static_affine: two readers of a weight that is small leave room for both biases") {
  Model model;
  const Value x = model.input("x", {1, 2, 4, 4});
  const Value w = model.constant("w", {2, 2, 1, 1}, {1e-12F, 1e-12F, 0.5F, -1});
  const Value b = model.constant("b", {2}, {-4.6F, 0.5F});
  const Value c = model.constant("c", {2}, {-5.2F, 0.25F});
  model.output(model.add("conv", {x, w, b}, "y"));
  model.output(model.add("conv", {model.add("onnx.Relu", {x}, "r"), w, c}, "z"));
  const QuantizeResult result = test::quantized_by_operands(model);
  for (const auto& [bias, value] : {std::pair("b", -4.6), std::pair("c", -5.2)}) {
    CAPTURE(bias);
    CHECK(planned(result, bias) == "bias i32 axis=0");
    const Constant& codes = *result.graph.constant(result.graph.find_value(bias).node);
    CHECK(static_cast<double>(test::value_of(read_integers(codes))[0]) *
              static_cast<double>(scales_of(result, bias)[0]) ==
          doctest::Approx(value).epsilon(1e-6));
  }
  CHECK(scales_of(result, "w")[1] == doctest::Approx(1.0 / 127));
  CHECK(largest_error(model, result) < 0.1F);
}

TEST_CASE("static_affine: a bias that stays float asks for no room") {
  Model model;
  const Value x = model.input("x", {4, 8});
  std::vector<float> weights(16);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = 1e-5F * static_cast<float>(i % 5 + 1);
  }
  const Value w = model.constant("w", {8, 2}, weights);
  const Value b = model.constant("b", {2}, {1000, -1000});
  model.output(model.add("gemm", {x, w, b}, "y", {{"beta", 0.5}}));
  const QuantizeResult result = test::quantized_by_operands(model);
  CHECK(planned(result, "b") == "float");
  for (const float scale : scales_of(result, "w")) CHECK(scale == doctest::Approx(5e-5 / 127));
}

TEST_CASE("static_affine: scales whose product would be no normal number are raised") {
  Model model = conv_model({1e-30F, 1e-30F, 0.5F, -1}, {0, 0});
  const Tensor input = same_everywhere({1, 2, 4, 4}, 1e-12F);
  const QuantizeResult result =
      test::quantized_by_operands(model, {.statistics = statistics_on(model.graph, {input})});
  if (planned(result, "b") != "float") {
    for (const float scale : scales_of(result, "b")) CHECK(std::isnormal(scale));
  }
  for (const float value : first_output(result.graph, {input})) CHECK(std::isfinite(value));
}

TEST_CASE("static_affine: infinite and NaN ranges leave values in float") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Model model = conv_model({1, 2, 0.5F, -1}, {0.5F, 0});
    const auto statistics = model.statistics();
    statistics->values["y"].histogram.add(std::vector<float>{bad});
    const QuantizeResult result = test::quantized_by_operands(model, {.statistics = statistics});
    CHECK(planned(result, "y") == "float");
    CHECK(test::reason(model.graph, result, "w").find("requests") != std::string::npos);
  }
}

TEST_CASE("static_affine: a bias that two layers add stays float, and is right") {
  Model model;
  const Value x = model.input("x", {1, 2, 4, 4});
  const Value bias = model.constant("b", {2}, {0.5F, -0.25F});
  const Value first = model.add("conv", {x, model.weight("w1", {2, 2, 1, 1}), bias}, "first");
  model.output(model.add("conv", {first, model.weight("w2", {2, 2, 1, 1}), bias}, "y"));
  const QuantizeResult result = test::quantized_by_operands(model);
  CHECK(planned(result, "b") == "float");
  CHECK(planned(result, "w1") == "weight i8 axis=0");
  CHECK(planned(result, "w2") == "weight i8 axis=0");
  CHECK(largest_error(model, result) < 0.25F);
}

TEST_CASE("static_affine: what Softmax reads stays float where steps are large") {
  const auto model_with = [](float mask) {
    Model model;
    const Value x = model.input("x", {1, 4, 4});
    const Value product = model.add("matmul", {x, model.weight("w", {4, 4})}, "scores");
    std::vector<float> added(16, 0);
    added[3] = mask;
    const Value masked =
        model.add("add", {product, model.constant("mask", {1, 4, 4}, added)}, "masked");
    const Value shares =
        model.add("onnx.Softmax", {masked}, "shares", {{"axis", std::int64_t{-1}}});
    model.output(model.add("matmul", {shares, model.weight("v", {4, 2})}, "y"));
    return model;
  };
  Model wide = model_with(-10000);
  const QuantizeResult left = test::quantized_by_operands(wide);
  CHECK(planned(left, "masked") == "float");
  CHECK(planned(left, "scores") != "float");
  Model narrow = model_with(-4);
  const QuantizeResult taken = test::quantized_by_operands(narrow);
  CHECK(planned(taken, "masked") == "activation i8");
}

TEST_CASE("static_affine: the range of Softmax is all that it can be") {
  Model model;
  const Value x = model.input("x", {1, 4});
  const Value product = model.add("matmul", {x, model.weight("w", {4, 4})}, "scores");
  const Value softmax =
      model.add("onnx.Softmax", {product}, "shares", {{"axis", std::int64_t{-1}}});
  model.output(model.add("matmul", {softmax, model.weight("v", {4, 2})}, "y"));
  const QuantizeResult result = test::quantized_by_operands(model);
  REQUIRE(planned(result, "shares") == "activation i8");
  CHECK(scales_of(result, "shares")[0] == 1.0F / 255.0F);
  CHECK(test::value_of(read_integers(type_of(result, "shares").zero_points))[0] == -128);
}

TEST_CASE("static_affine: values of which the samples had no element stay float") {
  Model model = conv_model({1, 2, 0.5F, -1}, {0.5F, 0});
  const auto statistics = model.statistics();
  statistics->values["y"] = {};
  const QuantizeResult result = test::quantized_by_operands(model, {.statistics = statistics});
  CHECK(planned(result, "y") == "float");
  CHECK(test::reason(model.graph, result, "y").find("no element of it") != std::string::npos);
}

TEST_CASE("static_affine: a value of unknown type expresses the type that it is made of") {
  const auto expressed = [](const std::string& element) {
    const auto graph =
        parse_graph("%x: tensor<1x2x4x4x" + element + "> = input()\n%w: tensor<2x2x1x1x" + element +
                    "> = constant() [1, 2, 3, 4]\n%c: tensor<1x2x4x4xundefined> = conv(%x, %w)\n"
                    "%r: tensor<*xundefined> = onnx.Relu(%c)\n"
                    "%y: tensor<1x2x4x4xundefined> = conv(%r, %w)\noutput(%y)\n");
    REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
    const auto statistics =
        test::statistics_of({{"x", -1, 1}, {"c", -3, 3}, {"r", 0, 3}, {"y", -9, 9}});
    const QuantizeResult result =
        test::quantized(*graph, {.statistics = statistics}, test::by_operands());
    return type_of(result, "y_quantized").expressed;
  };
  CHECK(expressed("f32") == ElementType::float32);
  CHECK(expressed("f16") == ElementType::float16);
}

namespace {

// One product of float16, whose data, weight and result are as large as said.
QuantizeResult half_product(float data, const std::string& weight, float result) {
  const auto graph =
      parse_graph("%x: tensor<1x2x4x4xf16> = input()\n%w: tensor<2x2x1x1xf16> = constant() [" +
                  weight + "]\n%y: tensor<1x2x4x4xf16> = conv(%x, %w)\noutput(%y)\n");
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  const auto statistics = test::statistics_of({{"x", -data, data}, {"y", -result, result}});
  return test::quantized(*graph, {.statistics = statistics}, test::by_operands());
}

}  // namespace

TEST_CASE("static_affine: scales of float16 values are float16 numbers") {
  // 2^-24 and 127 times that, the smallest steps there are: codes are exact.
  const QuantizeResult small = half_product(1e-6F, "5.9604645e-8, 0, 7.5697899e-6, 0", 1);
  for (const float scale : test::value_of(read_scales(type_of(small, "w").scales))) {
    CHECK(scale == 0x1p-24F);
  }
  CHECK(test::value_of(read_scales(type_of(small, "x_quantized").scales))[0] >= 0x1p-24F);
}

TEST_CASE("static_affine: what is beyond float16 stays float16") {
  CHECK(planned(half_product(1, "1, 2, 3, 4", 1e6F), "y") == "float");
  CHECK(planned(half_product(1, "1, 2, 3, 4", 65504), "y") != "float");
}

TEST_CASE(
    "places of the largest are integers, and get no codes, although no file says their type") {
  Model model;
  const Value x = model.input("x", {1, 3, 8, 8});
  const Value a = quadrant::test::one_by_one(model, x, "a");
  const NodeId pool =
      model.graph.add({.kind = "onnx.MaxPool",
                       .name = "pool",
                       .operands = {a},
                       .results = {{"p", {}}, {"i", {}}},
                       .attributes = {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                                      {"strides", std::vector<std::int64_t>{2, 2}}}});
  model.infer();
  const Value c = quadrant::test::one_by_one(model, {pool, 0}, "c");
  model.output(model.add("onnx.MaxUnpool", {c, {pool, 1}}, "u",
                         {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                          {"strides", std::vector<std::int64_t>{2, 2}}}));
  const QuantizeResult result = quadrant::test::quantized_by_operands(model);
  CHECK(planned(result, "i") == "float");
  CHECK(planned(result, "p") != "float");
  CHECK(to_string(result.graph.type(result.graph.find_value("i"))) == "tensor<1x3x4x4xi64>");
}
