// Codes of 4 bits in blocks: a tensor of codes, with the number of another one of scales.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>

#include "graph_helpers.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "shortened.hpp"

namespace {

using namespace tflite_test;

/// Codes that count up from -8, over and over.
std::string counted(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(i % 16 - 8);
  return text;
}

/// A product with weights of 4 channels and 64 summands, in two blocks of 32.
std::string product(std::string_view behind = "") {
  std::string text = R"(graph {}
%x: tensor<3x64xf32> = input()
%w: tensor<4x64x!quant.uniform<i4:f32:{1:32}, f16 {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.5}>> = constant() [)";
  text += counted(4 * 64) + R"(]
%r: tensor<4x64xf32> = dequantize(%w)
%y: tensor<3x4xf32> = gemm(%x, %r) {transB = 1}
)";
  return text + (behind.empty() ? std::string("output(%y)\n") : std::string(behind));
}

/// The format's packing: two codes in a byte, the first in the lower half.
std::vector<std::uint8_t> packed_count(int count) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < count; i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(((i % 16 - 8) & 15) | (((i + 1) % 16 - 8) & 15) << 4));
  }
  return bytes;
}

const schema::BlockwiseQuantizationT* blocks_of(const schema::TensorT& tensor) {
  return tensor.quantization ? tensor.quantization->details.AsBlockwiseQuantization() : nullptr;
}

std::int64_t tensors_with_blocks(schema::ModelT& model) {
  return std::ranges::count_if(main_of(model).tensors,
                               [](const auto& tensor) { return blocks_of(*tensor) != nullptr; });
}

const std::vector<std::uint8_t>& contents_of(schema::ModelT& model, const schema::TensorT& tensor) {
  return model.buffers[tensor.buffer]->data;
}

TEST_CASE("weights in blocks of 32 are codes, with scales of float16 in a tensor of their own") {
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(product()), &report));
  REQUIRE(operators_of(model) == Names{"FULLY_CONNECTED"});
  const schema::TensorT& w = tensor_of(model, "w");
  CHECK(main_of(model).operators[0]->inputs[1] != -1);
  CHECK(main_of(model)
            .tensors[static_cast<std::size_t>(main_of(model).operators[0]->inputs[1])]
            ->name == "w");
  CHECK(w.type == schema::TensorType::INT4);
  CHECK(w.shape == std::vector{4, 64});
  CHECK(contents_of(model, w) == packed_count(4 * 64));
  REQUIRE(blocks_of(w));
  CHECK(w.quantization->scale.empty());
  CHECK(blocks_of(w)->block_size == 32);
  CHECK(blocks_of(w)->zero_points == -1);
  const auto& scales = *main_of(model).tensors[static_cast<std::size_t>(blocks_of(w)->scales)];
  CHECK(scales.type == schema::TensorType::FLOAT16);
  CHECK(scales.shape == std::vector{4, 2});
  // 1 to 7 and 0.5, in IEEE 754's binary16.
  constexpr std::array<std::uint16_t, 8> halves{0x3c00, 0x4000, 0x4200, 0x4400,
                                                0x4500, 0x4600, 0x4700, 0x3800};
  REQUIRE(contents_of(model, scales).size() == sizeof halves);
  CHECK(std::memcmp(contents_of(model, scales).data(), halves.data(), sizeof halves) == 0);
  REQUIRE(report.changed.size() == 1);
  CHECK(report.changed[0].reason.find("to 8 bits") != std::string::npos);
}

TEST_CASE("a kernel that drops an activation gets none") {
  CHECK(operators_of(product("%z: tensor<3x4xf32> = onnx.Relu(%y)\noutput(%z)\n")) ==
        Names{"FULLY_CONNECTED", "RELU"});
}

TEST_CASE("weights that several multiply by are there once") {
  schema::ModelT model = model_of(bytes_of(graph_of(
      product("%z: tensor<3x4xf32> = gemm(%x, %r) {transB = 1}\noutput(%y)\noutput(%z)\n"))));
  CHECK(operators_of(model) == Names{"FULLY_CONNECTED", "FULLY_CONNECTED"});
  CHECK(tensors_with_blocks(model) == 1);
  CHECK(main_of(model).operators[0]->inputs[1] == main_of(model).operators[1]->inputs[1]);
}

TEST_CASE("who reads such weights otherwise gets real values") {
  schema::ModelT model = model_of(bytes_of(graph_of(
      product("%i: tensor<2xi64> = constant() [0, 3]\n%z: tensor<2x64xf32> = gather(%r, %i)\n"
              "output(%y)\noutput(%z)\n"))));
  CHECK(operators_of(model) == Names{"FULLY_CONNECTED", "GATHER"});
  CHECK(tensors_with_blocks(model) == 1);
  const auto table = static_cast<std::size_t>(main_of(model).operators[1]->inputs[0]);
  CHECK(main_of(model).tensors[table]->type == schema::TensorType::FLOAT32);
}

TEST_CASE("weights in the other order become those of the kernel") {
  std::string text = R"(graph {}
%x: tensor<1x32xf32> = input()
%w: tensor<32x4x!quant.uniform<i4:f32:{0:32}, f16 {1.0, 2.0, 3.0, 4.0}>> = constant() [)";
  for (int i = 0; i < 32; ++i) text += i == 0 ? "-8, -7, 0, 7" : ", 1, 2, 3, -4";
  text += R"(]
%r: tensor<32x4xf32> = dequantize(%w)
%y: tensor<1x4xf32> = matmul(%x, %r)
output(%y)
)";
  const std::vector<std::byte> bytes = bytes_of(graph_of(text));
  schema::ModelT model = model_of(bytes);
  const schema::TensorT& w = tensor_of(model, "w");
  CHECK(w.shape == std::vector{4, 32});
  REQUIRE(blocks_of(w));
  const std::vector<std::uint8_t>& codes = contents_of(model, w);
  REQUIRE(codes.size() == 64);
  CHECK(codes[0] == 0x18);   // -8, 1
  CHECK(codes[16] == 0x29);  // -7, 2
  CHECK(codes[32] == 0x30);  // 0, 3
  CHECK(codes[48] == 0xc7);  // 7, -4
  // And are read as they were.
  const Graph graph = graph_of(bytes);
  CAPTURE(print_graph(graph));
  const TensorType& type = graph.type(graph.find_value("w"));
  CHECK(type.shape == Shape{4, 32});
  CHECK(type.uniform()->granularity == Granularity::per_block(1, 32));
  CHECK(type.uniform()->scales.element() == ElementType::float16);
  CHECK(*read_scales(type.uniform()->scales) == std::vector{1.0F, 2.0F, 3.0F, 4.0F});
  schema::ModelT again = model_of(bytes_of(graph));
  CHECK(contents_of(again, tensor_of(again, "w")) == codes);
}

/// A file of `product`, changed.
std::vector<std::byte> changed(const std::function<void(schema::ModelT&)>& change) {
  schema::ModelT model = model_of(bytes_of(graph_of(product())));
  change(model);
  return bytes_of(model);
}

schema::BlockwiseQuantizationT& described(schema::ModelT& model) {
  return *tensor_of(model, "w").quantization->details.AsBlockwiseQuantization();
}

schema::TensorT& scales_in(schema::ModelT& model) { return tensor_of(model, "w_scales"); }

TEST_CASE("what a file says of blocks is held against what it holds") {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  struct Case {
    std::string_view message;
    std::function<void(schema::ModelT&)> change;
  };
  const std::vector<Case> cases{
      {"scales in tensor 99 of", [](auto& model) { described(model).scales = 99; }},
      {"scales in tensor -1 of", [](auto& model) { described(model).scales = -1; }},
      {"scales in tensor 2147483647 of", [](auto& model) { described(model).scales = most; }},
      {"scales of shape [3x64]", [](auto& model) { described(model).scales = 0; }},
      {"with zero points", [](auto& model) { described(model).zero_points = 1; }},
      {"with zero points", [](auto& model) { described(model).zero_points = -most; }},
      {"blocks of 0", [](auto& model) { described(model).block_size = 0; }},
      {"blocks of -32", [](auto& model) { described(model).block_size = -32; }},
      {"blocks of 48", [](auto& model) { described(model).block_size = 48; }},
      {"scales of shape [4x2], where blocks have [4x4]",
       [](auto& model) { described(model).block_size = 16; }},
      {"along several axes", [](auto& model) { described(model).block_shape = {1, 32}; }},
      {"blocks along axis 7",
       [](auto& model) { tensor_of(model, "w").quantization->quantized_dimension = 7; }},
      {"other codes than constants",
       [](auto& model) { tensor_of(model, "w").type = schema::TensorType::UINT4; }},
      {"other codes than constants", [](auto& model) { tensor_of(model, "w").buffer = 0; }},
      {"scales that are no constant", [](auto& model) { scales_in(model).buffer = 0; }},
      {"scales of i16", [](auto& model) { scales_in(model).type = schema::TensorType::INT16; }},
      {"scales of shape [2x4]", [](auto& model) { scales_in(model).shape = {2, 4}; }},
      {"a scale of 0",
       [](auto& model) { std::ranges::fill(model.buffers[scales_in(model).buffer]->data, 0); }},
      {"a scale of",
       [](auto& model) { std::ranges::fill(model.buffers[scales_in(model).buffer]->data, 0xff); }},
  };
  for (const Case& test : cases) {
    CAPTURE(test.message);
    const Error error = error_of(changed(test.change));
    CHECK_MESSAGE(to_string(error).find(test.message) != std::string::npos, to_string(error));
    CHECK(error.place.tensor.find("'w'") != std::string::npos);
  }
  const Error error = error_of(changed([](auto& model) { scales_in(model).buffer = 99; }));
  CHECK(error.place.tensor.find("'w_scales'") != std::string::npos);
}

TEST_CASE("scales of float32, a list of them, and a field that is left out") {
  const auto scales_after = [](const std::function<void(schema::ModelT&)>& change) {
    const Graph graph = graph_of(changed(change));
    return *read_scales(graph.type(graph.find_value("w")).uniform()->scales);
  };
  const std::vector<float> expected{1, 2, 3, 4, 5, 6, 7, 0.5};
  CHECK(scales_after([](auto& model) { scales_in(model).shape = {8}; }) == expected);
  CHECK(scales_after([](auto& model) { described(model).zero_points = 0; }) == expected);
  CHECK(scales_after([&](auto& model) {
          scales_in(model).type = schema::TensorType::FLOAT32;
          auto& data = model.buffers[scales_in(model).buffer]->data;
          data.resize(expected.size() * sizeof(float));
          std::memcpy(data.data(), expected.data(), data.size());
        }) == expected);
}

TEST_CASE("an operator that is carried does not take codes in blocks for plain ones") {
  const Error error = error_of(changed([](auto& model) {
    model.operator_codes[0]->builtin_code = schema::BuiltinOperator::SKIP_GRAM;
    model.operator_codes[0]->deprecated_builtin_code = 30;
    main_of(model).operators[0]->builtin_options.Reset();
  }));
  CHECK(error.code == ErrorCode::impossible);
  CHECK(error.message.find("SKIP_GRAM of codes in blocks") != std::string::npos);
}

TEST_CASE("no wrong byte of a file with blocks does harm") {
  const std::vector<std::byte> bytes = bytes_of(graph_of(product()));
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
