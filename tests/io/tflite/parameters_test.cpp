// Parameters that TFLite's tensors cannot say, and constants that are moved.
#include <algorithm>
#include <array>
#include <cstring>

#include "graph_helpers.hpp"
#include "quadrant/ir/graph.hpp"
#include "shortened.hpp"

namespace {

using namespace tflite_test;
using Names = std::vector<std::string>;

TEST_CASE("codes of blocks are plain codes, and made real by arithmetic") {
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<2x4x!quant.uniform<i8:f32:{1:2}, {0.5, 1.0, 2.0, 4.0}>> = input()
%y: tensor<2x4xf32> = dequantize(%x)
output(%y)
)"),
                                           &report));
  CHECK(operators_of(model) == Names{"GATHER", "CAST", "MUL"});
  CHECK_FALSE(tensor_of(model, "x").quantization);
  CHECK(report.decomposed.size() == 1);
}

TEST_CASE("plain codes that become codes of blocks, and real values that do") {
  CHECK(operators_of(R"(graph {}
%x: tensor<2x4xi8> = input()
%c: tensor<2x4x!quant.uniform<i8:f32:{1:2}, {0.5:1, 1.0:2, 2.0:3, 4.0:4}>> = storage_cast(%x)
%r: tensor<2x4xf32> = dequantize(%c)
%y: tensor<2x4xf32> = onnx.Relu(%r)
%q: tensor<2x4x!quant.uniform<i8:f32:{1:2}, {0.5:1, 1.0:2, 2.0:3, 4.0:4}>> = quantize(%y)
output(%q)
)") == Names{"GATHER", "GATHER", "CAST", "SUB", "MUL", "GATHER", "GATHER", "DIV", "ROUND", "ADD",
             "MAXIMUM", "MINIMUM", "CAST"});
}

TEST_CASE("constants of blocks are written as float") {
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x4x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<2x4x!quant.uniform<i8:f32:{1:2}, {0.5, 1.0, 2.0, 4.0}>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%y: tensor<1x2x!quant.uniform<i8:f32, 1.0>> = gemm(%x, %w) {transB = 1}
output(%y)
)"),
                                           &report));
  CHECK(operators_of(model) == Names{"DEQUANTIZE", "FULLY_CONNECTED", "QUANTIZE"});
  CHECK(report.changed.size() == 1);
}

TEST_CASE("blocks of 4 bits that are transposed are written as float, too") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x4xf32> = input()
%c: tensor<2x4x!quant.uniform<i4:f32:{1:2}, {0.5, 1.0, 2.0, 4.0}>> = constant() [1, 2, 3, 4, 5, 6, 7, -8]
%w: tensor<4x2x!quant.uniform<i4:f32:{0:2}, {0.5, 2.0, 1.0, 4.0}>> = transpose(%c) {perm = [1, 0]}
%r: tensor<4x2xf32> = dequantize(%w)
%y: tensor<1x2xf32> = matmul(%x, %r)
output(%y)
)")));
  REQUIRE(operators_of(model) == Names{"FULLY_CONNECTED"});
  const schema::SubGraphT& graph = *model.subgraphs[0];
  const auto weight = static_cast<std::size_t>(graph.operators[0]->inputs[1]);
  const std::vector<std::uint8_t>& bytes = model.buffers[graph.tensors[weight]->buffer]->data;
  std::array<float, 8> numbers{};  // [2, 4], as the kernel has its weights
  REQUIRE(bytes.size() == sizeof numbers);
  std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
  CHECK(numbers == std::array{0.5f, 1.0f, 3.0f, 4.0f, 10.0f, 12.0f, 28.0f, -32.0f});
}

TEST_CASE("a weight that is reshaped is a weight") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x4x!quant.uniform<i8:f32, 0.5>> = input()
%c: tensor<2x2x2x!quant.uniform<i8:f32:2, {0.25, 0.5}>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%s: tensor<2xi64> = constant() [4, 2]
%w: tensor<4x2x!quant.uniform<i8:f32:1, {0.25, 0.5}>> = reshape(%c, %s)
%y: tensor<1x2x!quant.uniform<i8:f32, 1.0>> = matmul(%x, %w)
output(%y)
)")));
  CHECK(operators_of(model) == Names{"FULLY_CONNECTED"});
}

TEST_CASE("a filling without a code is the nearest one") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>> = input()
%p: tensor<2xi64> = constant() [1, 1]
%v: tensor<f32> = constant() [1000.0]
%y: tensor<4x!quant.uniform<i8:f32, 0.5:3>> = onnx.Pad(%x, %p, %v)
output(%y)
)")));
  REQUIRE(operators_of(model) == Names{"PADV2"});
  const std::int32_t filling = main_of(model).operators.front()->inputs[2];
  const auto& tensor = *main_of(model).tensors[static_cast<std::size_t>(filling)];
  CHECK(model.buffers[tensor.buffer]->data == std::vector<std::uint8_t>{127});
}

constexpr std::string_view transposed = R"(graph {}
%x: tensor<1x2x3x3x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<2x1x2x2x!quant.uniform<i8:f32:1, {0.25}>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%y: tensor<1x1x6x6x!quant.uniform<i8:f32, 1.0>> = conv_transpose(%x, %w) {strides = [2, 2]}
output(%y)
)";

TEST_CASE("a transposed convolution is read as it was") {
  const std::vector<std::byte> bytes = bytes_of(graph_of(transposed));
  const Graph graph = graph_of(bytes);
  CAPTURE(print_graph(graph));
  CHECK(print_graph(graph).find("= conv_transpose(") != std::string::npos);
  CHECK(print_graph(graph).find("tflite.") == std::string::npos);
  schema::ModelT first = model_of(bytes);
  schema::ModelT second = model_of(bytes_of(graph));
  CHECK(operators_of(first) == operators_of(second));
}

TEST_CASE("no wrong byte of a transposed convolution does harm") {
  const std::vector<std::byte> bytes = bytes_of(graph_of(transposed));
  test::Turns turns;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      if (!turns.next()) continue;
      std::vector<std::byte> damaged = bytes;
      damaged[at] = static_cast<std::byte>(value);
      const auto graph = read_tflite(damaged);
      if (!graph) continue;
      CHECK(verify(*graph).has_value());
      const auto written = tflite_bytes(*graph);
      if (written) CHECK(read_tflite(*written).has_value());
    }
  }
}

}  // namespace
