#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "model_text.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::test {
namespace {

using Kinds = std::vector<std::string>;

std::string text_of(const Kinds& kinds) {
  std::string text;
  for (const std::string& kind : kinds) text.append(text.empty() ? "" : " ").append(kind);
  return text;
}

Graph converted(std::string_view text, std::int64_t count) {
  Graph graph = parsed(text);
  const auto done = value_of(convert_fake_quant(graph));
  CHECK(done.converted == count);
  CHECK(done.left.empty());
  const auto verified = verify(graph);
  REQUIRE_MESSAGE(verified, (verified ? std::string() : to_string(verified.error())));
  return graph;
}

std::vector<float> first_output_of(const Graph& graph, const Tensors& inputs) {
  std::vector<Value> wanted;
  for (const NodeId node : graph.outputs()) wanted.push_back(graph.operands(node)[0]);
  const auto model = value_of(Interpreter().load(graph, wanted));
  const auto results = value_of(run_model(*model, inputs, wanted.size()));
  const auto reals = results[0].as<float>();
  return {reals.begin(), reals.end()};
}

// As training with simulated quantization leaves it: every tensor passes through a fake_quant.
constexpr std::string_view trained =
    "graph {}\n"
    "%x: tensor<1x2x4x4xf32> = input()\n"
    "%xq: tensor<1x2x4x4xf32> = const_fake_quant(%x) {min = -1.0, max = 1.0}\n"
    "%w: tensor<3x2x3x3xf32> = constant() [0.5, -0.25, 0.125, 0.5, -0.25, 0.125, 0.5, -0.25, 0.125,"
    " 0.1, 0.2, 0.3, 0.4, -0.5, -0.6, -0.7, 0.8, 0.9, 0.5, -0.25, 0.125, 0.5, -0.25, 0.125, 0.5,"
    " -0.25, 0.125, 0.1, 0.2, 0.3, 0.4, -0.5, -0.6, -0.7, 0.8, 0.9, 0.5, -0.25, 0.125, 0.5, -0.25,"
    " 0.125, 0.5, -0.25, 0.125, 0.1, 0.2, 0.3, 0.4, -0.5, -0.6, -0.7, 0.8, 0.9]\n"
    "%wq: tensor<3x2x3x3xf32> = const_fake_quant(%w) {min = [-1.0, -0.9, -1.0], "
    "max = [1.0, 0.9, 1.0], axis = 0, narrow_range = 1, is_signed = 1}\n"
    "%b: tensor<3xf32> = constant() [0.5, -0.5, 0]\n"
    "%c: tensor<1x3x4x4xf32> = conv(%xq, %wq, %b) {pads = [1, 1, 1, 1]}\n"
    "%r: tensor<1x3x4x4xf32> = onnx.Relu(%c)\n"
    "%low: tensor<f32> = constant() [0]\n"
    "%high: tensor<f32> = constant() [6]\n"
    "%rq: tensor<1x3x4x4xf32> = fake_quant(%r, %low, %high)\n"
    "%p: tensor<1x3x2x2xf32> = onnx.MaxPool(%rq) {kernel_shape = [2, 2], strides = [2, 2]}\n"
    "output(%p)\n";

Tensor random_image(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(32);
  for (float& value : values) value = normal(random);
  return Tensor::from_values<float>(ElementType::float32, {1, 2, 4, 4}, values);
}

TEST_CASE("simulated quantization becomes casts, and computes the same bits") {
  const Graph simulated = parsed(trained);
  const Graph graph = converted(trained, 3);
  // The weight is codes; the casts have the names.
  CHECK(text_of(operations_of(graph)) ==
        "dequantize quantize dequantize conv onnx.Relu quantize dequantize onnx.MaxPool");
  CHECK(graph.kind(graph.find_value("wq").node) == "dequantize");
  CHECK(to_string(graph.type(graph.find_value("wq_quantized"))) ==
        "tensor<3x2x3x3x!quant.uniform<i8<-127:127>:f32:0, {0.007874016, 0.007086614, "
        "0.007874016}>>");
  CHECK(graph.find_value("w").is_absent());
  CHECK(graph.find_value("low").is_absent());
  for (unsigned seed = 0; seed < 5; ++seed) {
    CHECK(first_output_of(simulated, {random_image(seed)}) ==
          first_output_of(graph, {random_image(seed)}));
  }
}

TEST_CASE("a model whose every tensor passes through a fake_quant goes to codes whole") {
  const Graph graph = converted(trained, 3);
  const auto fused = value_of(quantize_qdq(graph));
  // What is left of the casts is at the borders.
  CHECK(text_of(operations_of(fused.graph)) == "quantize conv onnx.Relu onnx.MaxPool dequantize");
  for (const NodeId node : value_of(topological_order(fused.graph))) {
    const std::string_view kind = fused.graph.kind(node);
    if (kind == "conv" || kind.starts_with("onnx.")) CHECK(fused.graph.type({node}).is_quantized());
  }
  // To a step of the result's scale, 6/255, on codes.
  const auto wanted = first_output_of(graph, {random_image(3)});
  const auto got = first_output_of(fused.graph, {random_image(3)});
  REQUIRE(wanted.size() == got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(std::abs(wanted[i] - got[i]) <= 6.0F / 255 * 1.001F);
  }
}

TEST_CASE("a fake_quant whose bounds are computed stays, with the reason") {
  Graph graph = parsed(
      "graph {}\n%x: tensor<4xf32> = input()\n%m: tensor<f32> = input()\n"
      "%a: tensor<4xf32> = fake_quant(%x, %m, %m)\n"
      "%b: tensor<4xf32> = const_fake_quant(%a) {min = 0.0, max = 1.0}\n"
      "%w: tensor<4xf32> = constant() [1, 2, 3, 4]\n"
      "%c: tensor<4xf32> = const_fake_quant(%w) {min = 0.0, max = 1.0, num_bits = 17}\n"
      "%d: tensor<4xf32> = add(%b, %c)\noutput(%d)\n");
  const auto done = value_of(convert_fake_quant(graph));
  CHECK(done.converted == 1);
  CHECK(done.left == std::vector<LeftAlone>{{"a", "its bounds are computed"},
                                            {"c", "a constant's codes have 16 bits at most"}});
  CHECK(operations_of(graph) ==
        Kinds{"const_fake_quant", "fake_quant", "quantize", "dequantize", "add"});
}

TEST_CASE("attributes that make no sense are an error that names the node") {
  Graph graph = value_of(
      parse_graph("graph {}\n%x: tensor<4xf32> = input()\n"
                  "%y: tensor<4xf32> = const_fake_quant(%x) {min = 1.0, max = 0.0}\noutput(%y)\n"));
  const auto done = convert_fake_quant(graph);
  REQUIRE(!done);
  CHECK(done.error().place.node == "y");
  CHECK(operations_of(graph) == Kinds{"const_fake_quant"});
}

}  // namespace
}  // namespace quadrant::test
