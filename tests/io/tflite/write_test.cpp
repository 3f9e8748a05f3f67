// Graphs to models: which operators there are, and in which order their tensors have the axes.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "graph_helpers.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"
#include "temporary_folder.hpp"

using namespace tflite_test;

namespace {

/// An int8 convolution whose relu has the same type.
constexpr std::string_view codes = R"(graph {}
%x: tensor<1x2x4x4xf32> = input()
%q: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.5:3>> = quantize(%x)
%w: tensor<2x2x1x1x!quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>> = constant() [1, 2, 3, 4]
%b: tensor<2x!quant.uniform<i32:f32:0, {0.125, 0.25}>> = constant() [8, 16]
%c: tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>> = conv(%q, %w, %b)
%r: tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>> = onnx.Relu(%c)
%y: tensor<1x2x4x4xf32> = dequantize(%r)
output(%y)
)";

}  // namespace

TEST_CASE("a convolution of codes with its activation") {
  schema::ModelT model = model_of(bytes_of(graph_of(codes)));
  CHECK(operators_of(model) ==
        Names{"QUANTIZE", "TRANSPOSE", "CONV_2D", "DEQUANTIZE", "TRANSPOSE"});
  const auto& conv = *main_of(model).operators[2];
  const auto* options = conv.builtin_options.AsConv2DOptions();
  REQUIRE(options);
  CHECK(options->fused_activation_function == schema::ActivationFunctionType::RELU);
  CHECK(options->padding == schema::Padding::VALID);
  CHECK(model.operator_codes[conv.opcode_index]->version == 3);

  const schema::TensorT& weights = tensor_of(model, "w");
  CHECK(weights.shape == std::vector<std::int32_t>{2, 1, 1, 2});
  CHECK(weights.quantization->scale == std::vector<float>{0.25F, 0.5F});
  CHECK(weights.quantization->quantized_dimension == 0);
  const schema::TensorT& data = tensor_of(model, "q");
  CHECK(data.quantization->zero_point == std::vector<std::int64_t>{3});
  CHECK(tensor_of(model, "r").type == schema::TensorType::INT8);
}

TEST_CASE("a bias with other scales is quantized anew") {
  std::string text(codes);
  text.replace(text.find("{0.125, 0.25}"), 13, "{0.25, 0.25}");
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(text), &report));
  const schema::TensorT& bias = tensor_of(model, "b");
  CHECK(bias.quantization->scale == std::vector<float>{0.125F, 0.25F});
  const auto& data = model.buffers[bias.buffer]->data;
  CHECK(data == std::vector<std::uint8_t>{16, 0, 0, 0, 16, 0, 0, 0});
  REQUIRE(report.changed.size() == 1);
  CHECK(report.changed[0].name == "c");
}

TEST_CASE("products whose scale float32 does not hold are refused, with a bias and without") {
  for (const char* const scales :
       {"0.5:3>> = quantize|{1e-45, 0.5}", "1e30:3>> = quantize|{1e30, 0.5}"}) {
    const std::string_view both = scales;
    const std::size_t middle = both.find('|');
    std::string text(codes);
    text.replace(text.find("{0.25, 0.5}"), 11, both.substr(middle + 1));
    text.replace(text.find("0.5:3>> = quantize"), 18, both.substr(0, middle));
    std::string plain = text;
    plain.replace(plain.find("conv(%q, %w, %b)"), 16, "conv(%q, %w)");
    for (const std::string& each : {text, plain}) {
      const auto bytes = tflite_bytes(graph_of(each));
      REQUIRE_FALSE(bytes);
      CHECK(bytes.error().message.find("no normal number of float32") != std::string::npos);
    }
  }
}

TEST_CASE("images stay NHWC from one operation to the next") {
  CHECK(operators_of(R"(graph {}
%x: tensor<1x8x8x2xf32> = input()
%t: tensor<1x2x8x8xf32> = transpose(%x) {perm = [0, 3, 1, 2]}
%w: tensor<2x2x3x3xf32> = constant() <...>
%c: tensor<1x2x8x8xf32> = conv(%t, %w) {pads = [1, 1, 1, 1]}
%s: tensor<1x2x8x8xf32> = onnx.Sigmoid(%c)
%m: tensor<1x2x8x8xf32> = multiply(%c, %s)
%p: tensor<1x2x4x4xf32> = onnx.MaxPool(%m) {kernel_shape = [2, 2], strides = [2, 2]}
%j: tensor<1x4x4x4xf32> = concat(%p, %p) {axis = 1}
%y: tensor<1x4x4x4xf32> = transpose(%j) {perm = [0, 2, 3, 1]}
output(%y)
)") == Names{"CONV_2D", "LOGISTIC", "MUL", "MAX_POOL_2D", "CONCATENATION"});
}

TEST_CASE("one transpose for all that need the other order") {
  TfliteWriteReport report;
  const Graph graph = graph_of(R"(graph {}
%x: tensor<1x2x8x8xf32> = input()
%a: tensor<1x2x4x4xf32> = onnx.MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2]}
%b: tensor<1x2x4x4xf32> = onnx.AveragePool(%x) {kernel_shape = [2, 2], strides = [2, 2]}
%s: tensor<1x2x4x4xf32> = add(%a, %b)
%f: tensor<1x32xf32> = flatten(%s) {axis = 1}
output(%s)
output(%f)
)");
  schema::ModelT model = model_of(bytes_of(graph, &report));
  CHECK(report.transposes == 2);
  CHECK(operators_of(model) ==
        Names{"TRANSPOSE", "MAX_POOL_2D", "AVERAGE_POOL_2D", "ADD", "TRANSPOSE", "RESHAPE"});
  CHECK(tensor_of(model, "x").shape == std::vector<std::int32_t>{1, 2, 8, 8});
}

TEST_CASE("the mean of a window that lies in the padding alone is zero") {
  // Nothing to correct: each window holds one element or, like the first, none.
  CHECK(operators_of(R"(graph {}
%x: tensor<1x1x1x2xf32> = input()
%y: tensor<1x1x2x2xf32> = onnx.AveragePool(%x) {kernel_shape = [1, 1], strides = [2, 2], pads = [1, 1, 1, 1]}
output(%y)
)") == Names{"RESHAPE", "PAD", "AVERAGE_POOL_2D", "RESHAPE"});
}

TEST_CASE("an activation that is not alone is an operator") {
  CHECK(operators_of(R"(graph {}
%x: tensor<2x3xf32> = input()
%z: tensor<2x3xf32> = input()
%a: tensor<2x3xf32> = add(%x, %z)
%r: tensor<2x3xf32> = onnx.Relu(%a)
%y: tensor<2x3xf32> = onnx.Sub(%a, %r)
output(%y)
)") == Names{"ADD", "RELU", "SUB"});
}

TEST_CASE("codes for which there is no kernel") {
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = input()
%y: tensor<2x3x!quant.uniform<i8:f32, 0.25>> = onnx.Sin(%x)
output(%y)
)"),
                                           &report));
  CHECK(operators_of(model) == Names{"DEQUANTIZE", "SIN", "QUANTIZE"});
  CHECK(report.decomposed.size() == 1);
}

TEST_CASE("plain integers without a kernel are wider between casts") {
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<2x3xi8> = input()
%c: tensor<3xi8> = constant() [1, -2, 3]
%a: tensor<2x3xi8> = add(%x, %c)
%m: tensor<2x3xi8> = multiply(%x, %a)
output(%m)
)"),
                                           &report));
  // The operand is cast once for both, the constant is an int32 one.
  CHECK(operators_of(model) == Names{"CAST", "ADD", "CAST", "CAST", "MUL", "CAST"});
  CHECK(tensor_of(model, "c_i32").type == schema::TensorType::INT32);
  CHECK(tensor_of(model, "m_narrow").type == schema::TensorType::INT8);
  CHECK(report.decomposed.size() == 2);
}

TEST_CASE("plain integers with a kernel are as they are") {
  CHECK(operators_of(R"(graph {}
%x: tensor<2x3xi32> = input()
%z: tensor<3xi32> = input()
%a: tensor<2x3xi32> = add(%x, %z)
%r: tensor<2x3xi32> = onnx.Relu(%a)
output(%r)
)") == Names{"ADD", "MAXIMUM"});
}

TEST_CASE("plain integers that no kernel takes are refused") {
  const auto bytes = tflite_bytes(graph_of(R"(graph {}
%x: tensor<2x3xu64> = input()
%y: tensor<2x3xu64> = add(%x, %x) {name = "sum"}
output(%y)
)"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == ErrorCode::impossible);
  CHECK(bytes.error().message.find("no kernel for plain u64") != std::string::npos);
  CHECK(bytes.error().message.find("(sum)") != std::string::npos);
}

TEST_CASE("codes of 16 bits with a zero point are real numbers") {
  CHECK(operators_of(R"(graph {}
%x: tensor<2x3x!quant.uniform<i16:f32, 0.5:7>> = input()
%y: tensor<2x3x!quant.uniform<i16:f32, 0.5:7>> = onnx.Sigmoid(%x)
output(%y)
)") == Names{"CAST", "SUB", "MUL", "LOGISTIC", "QUANTIZE"});
}

TEST_CASE("results of fixed parameters are quantized anew") {
  CHECK(operators_of(R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32, 0.5:7>> = input()
%y: tensor<2x3x!quant.uniform<i8:f32, 0.25:7>> = onnx.Sigmoid(%x)
output(%y)
)") == Names{"LOGISTIC", "QUANTIZE"});
}

TEST_CASE("codes to other codes") {
  CHECK(operators_of(R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = input()
%d: tensor<2x3xf32> = dequantize(%x)
%y: tensor<2x3x!quant.uniform<i8:f32, 0.25>> = quantize(%d)
output(%y)
)") == Names{"QUANTIZE"});
}

TEST_CASE("weights of 4 bits lie in pairs") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x4x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<2x4x!quant.uniform<i4<-7:7>:f32:0, {0.25, 0.5}>> = constant() [1, -2, 3, 4, 5, 6, 7, -7]
%y: tensor<1x2x!quant.uniform<i8:f32, 1.0>> = gemm(%x, %w) {transB = 1}
output(%y)
)")));
  CHECK(operators_of(model) == Names{"FULLY_CONNECTED"});
  const schema::TensorT& weights = tensor_of(model, "w");
  CHECK(weights.type == schema::TensorType::INT4);
  CHECK(model.buffers[weights.buffer]->data == std::vector<std::uint8_t>{0xe1, 0x43, 0x65, 0x97});
  const Graph again = graph_of(bytes_of(model));
  const auto codes_read = read_integers(*again.constant(again.find_value("w").node));
  REQUIRE(codes_read);
  CHECK(*codes_read == std::vector<std::int64_t>{1, -2, 3, 4, 5, 6, 7, -7});
}

namespace {

/// The version that the file asks for of an operator.
std::int32_t version_of(const schema::ModelT& model, schema::BuiltinOperator code) {
  for (const auto& kind : model.operator_codes) {
    if (kind->builtin_code == code) return kind->version;
  }
  return 0;
}

/// The codes of `w` as they are read back, and that they have 2 bits.
std::vector<std::int64_t> two_bit_codes(const schema::ModelT& model) {
  const Graph graph = graph_of(bytes_of(model));
  const Value w = graph.find_value("w");
  const UniformType& type = *graph.type(w).uniform();
  CHECK(type.storage == ElementType::int4);
  CHECK(type.storage_bits == 2);
  CHECK(type.storage_min == -2);
  CHECK(type.storage_max == 1);
  const auto codes = read_integers(*graph.constant(w.node));
  REQUIRE(codes);
  return *codes;
}

}  // namespace

TEST_CASE("weights of 2 bits lie in fours") {
  // Beside codes of 8 bits: 9 of them, in whole bytes and one that is used in part.
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x3x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<3x3x!quant.uniform<i2:f32:0, {0.25, 0.5, 1.0}>> = constant() [1, -2, 0, -1, 1, 1, -1, -2, 1]
%y: tensor<1x3x!quant.uniform<i8:f32, 1.0>> = gemm(%x, %w) {transB = 1}
output(%y)
)")));
  CHECK(operators_of(model) == Names{"FULLY_CONNECTED"});
  CHECK(version_of(model, schema::BuiltinOperator::FULLY_CONNECTED) == 14);
  const schema::TensorT& dense = tensor_of(model, "w");
  CHECK(dense.type == schema::TensorType::INT2);
  CHECK(model.buffers[dense.buffer]->data ==
        std::vector<std::uint8_t>{0b11'00'10'01, 0b10'11'01'01, 0b01});
  CHECK(two_bit_codes(model) == std::vector<std::int64_t>{1, -2, 0, -1, 1, 1, -1, -2, 1});
  // Beside real numbers, of one scale; the range alone tells.
  model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x2x2x2xf32> = input()
%w: tensor<1x2x1x1x!quant.uniform<i4<-1:1>:f32, 0.25>> = constant() [1, -1]
%r: tensor<1x2x1x1xf32> = dequantize(%w)
%y: tensor<1x1x2x2xf32> = conv(%x, %r)
output(%y)
)")));
  CHECK(version_of(model, schema::BuiltinOperator::DEQUANTIZE) == 7);
  const schema::TensorT& filter = tensor_of(model, "w");
  CHECK(filter.type == schema::TensorType::INT2);
  CHECK(model.buffers[filter.buffer]->data == std::vector<std::uint8_t>{0b11'01});
  CHECK(two_bit_codes(model) == std::vector<std::int64_t>{1, -1});
}

TEST_CASE("weights of few bits without a sign get one") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x2xf32> = input()
%w: tensor<2x2x!quant.uniform<u2:f32:0, {0.25:3, 0.5}>> = constant() [0, 1, 2, 3]
%r: tensor<2x2xf32> = dequantize(%w)
%v: tensor<2x2x!quant.uniform<u4:f32, 0.25:8>> = constant() [0, 8, 9, 15]
%s: tensor<2x2xf32> = dequantize(%v)
%h: tensor<1x2xf32> = gemm(%x, %r) {transB = 1}
%y: tensor<1x2xf32> = gemm(%h, %s) {transB = 1}
output(%y)
)")));
  const schema::TensorT& narrow = tensor_of(model, "w");
  CHECK(narrow.type == schema::TensorType::INT2);
  CHECK(narrow.quantization->zero_point == std::vector<std::int64_t>{1, -2});
  CHECK(model.buffers[narrow.buffer]->data == std::vector<std::uint8_t>{0b01'00'11'10});
  const schema::TensorT& wide = tensor_of(model, "v");
  CHECK(wide.type == schema::TensorType::INT4);
  CHECK(wide.quantization->zero_point == std::vector<std::int64_t>{0});
  CHECK(model.buffers[wide.buffer]->data == std::vector<std::uint8_t>{0x08, 0x71});
}

TEST_CASE("weights of 2 bits that some kernel wants in 4 are in 4 for all") {
  const std::string_view convolution = R"(graph {}
%x: tensor<1x2x2x2x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<2x2x1x1x!quant.uniform<i2:f32:0, {0.25, 0.5}>> = constant() [1, -2, 0, -1]
%y: tensor<1x2x2x2x!quant.uniform<i8:f32, 1.0>> = conv(%x, %w)
output(%y)
)";
  schema::ModelT model = model_of(bytes_of(graph_of(convolution)));
  CHECK(tensor_of(model, "w").type == schema::TensorType::INT4);
  CHECK(version_of(model, schema::BuiltinOperator::CONV_2D) == 7);
  model = model_of(bytes_of(graph_of(std::string(convolution) + R"(%f: tensor<1x2x2x2xf32> = input()
%r: tensor<2x2x1x1xf32> = dequantize(%w)
%z: tensor<1x2x2x2xf32> = conv(%f, %r)
output(%z)
)")));
  CHECK(version_of(model, schema::BuiltinOperator::DEQUANTIZE) == 6);
  for (const auto& tensor : main_of(model).tensors) {
    CHECK(tensor->type != schema::TensorType::INT2);
  }
  // Codes that are not what the type says stay what they are.
  model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x2x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<2x2x!quant.uniform<i4<-1:1>:f32, 0.25>> = constant() [1, 5, -1, 0]
%y: tensor<1x2x!quant.uniform<i8:f32, 1.0>> = gemm(%x, %w) {transB = 1}
output(%y)
)")));
  CHECK(tensor_of(model, "w").type == schema::TensorType::INT4);
  // Three bits are no two.
  model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x2x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<2x2x!quant.uniform<i3:f32, 0.25>> = constant() [1, 0, 1, 0]
%y: tensor<1x2x!quant.uniform<i8:f32, 1.0>> = gemm(%x, %w) {transB = 1}
output(%y)
)")));
  CHECK(tensor_of(model, "w").type == schema::TensorType::INT4);
}

TEST_CASE("a weight that is an output, too, is given as real values") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x2xf32> = input()
%c: tensor<2x2x!quant.uniform<i8:f32, 0.5>> = constant() [1, -2, 3, 4]
%w: tensor<2x2xf32> = dequantize(%c)
%y: tensor<1x2xf32> = gemm(%x, %w) {transB = 1}
output(%y, %w)
)")));
  CHECK(operators_of(model) == Names{"FULLY_CONNECTED"});
  const schema::TensorT& given = tensor_of(model, "w");
  CHECK(given.type == schema::TensorType::FLOAT32);
  const std::vector<std::uint8_t>& bytes = model.buffers[given.buffer]->data;
  std::array<float, 4> numbers{};
  REQUIRE(bytes.size() == sizeof numbers);
  std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
  CHECK(numbers == std::array{0.5f, -1.0f, 1.5f, 2.0f});
}

TEST_CASE("rows of codes that are looked up are plain integers, whoever knows their scales") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%i: tensor<2xi32> = input()
%c: tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0}>> = constant() [1, -2, 3, 4, 5, 6]
%s: tensor<3x1xf32> = constant() [0.5, 0.25, 1.0]
%r: tensor<2x2xi8> = gather(%c, %i) {axis = 0}
%f: tensor<2x2xf32> = cast(%r) {to = 1}
%g: tensor<2x1xf32> = gather(%s, %i) {axis = 0}
%y: tensor<2x2xf32> = multiply(%f, %g)
output(%y)
)")));
  CHECK(operators_of(model) == Names{"GATHER", "CAST", "GATHER", "MUL"});
}

TEST_CASE("a pooling whose result is said to have a window in the padding is refused by name") {
  const auto written = [](std::string_view extent) {
    return tflite_bytes(
        graph_of("graph {}\n"
                 "%x: tensor<1x5x4xf32> = input()\n"
                 "%y: tensor<1x5x" +
                 std::string(extent) +
                 "xf32> = onnx.AveragePool(%x) {ceil_mode = 1, kernel_shape = [2], "
                 "strides = [2], pads = [0, 1]}\n"
                 "output(%y)\n"));
  };
  CHECK(written("2"));
  const auto refused = written("3");
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().message.find("(y)") != std::string::npos);
}

TEST_CASE("SAME beside dilations comes back as pads, whatever the extents") {
  const Graph again = graph_of(bytes_of(graph_of(R"(graph {}
%x: tensor<1x1x?x?xf32> = input()
%w: tensor<1x1x3x3xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9]
%y: tensor<1x1x?x?xf32> = conv(%x, %w) {pads = [2, 2, 2, 2], dilations = [2, 2]}
output(%y)
)")));
  int convolutions = 0;
  for (std::uint32_t i = 0; i < again.index_bound(); ++i) {
    const NodeId node = again.node_at(i);
    if (!node.is_valid() || again.kind(node) != ops::Conv::kind) continue;
    ++convolutions;
    CHECK(again.attribute(node, "auto_pad") == nullptr);
    REQUIRE(again.attribute(node, "pads") != nullptr);
    CHECK(*again.attribute(node, "pads") == Attribute(std::vector<std::int64_t>{2, 2, 2, 2}));
  }
  CHECK(convolutions == 1);
}

TEST_CASE("an open batch") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<?x4xf32> = input()
%y: tensor<?x4xf32> = onnx.Relu(%x)
output(%y)
)")));
  CHECK(tensor_of(model, "x").shape == std::vector<std::int32_t>{1, 4});
  CHECK(tensor_of(model, "x").shape_signature == std::vector<std::int32_t>{-1, 4});
}

TEST_CASE("parts of an open extent are as long as the model says") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<?x4xf32> = input()
%s: tensor<2xi64> = constant() [2, 3]
%a: tensor<2x4xf32>, %b: tensor<3x4xf32> = split(%x, %s) {axis = 0}
output(%a)
output(%b)
)")));
  CHECK(operators_of(model) == Names{"SPLIT_V"});
  CHECK(tensor_of(model, "b").shape == std::vector<std::int32_t>{3, 4});
  const schema::TensorT& sizes =
      *main_of(model).tensors[static_cast<std::size_t>(main_of(model).operators[0]->inputs[1])];
  CHECK(model.buffers[sizes.buffer]->data == std::vector<std::uint8_t>{2, 0, 0, 0, 3, 0, 0, 0});
}

TEST_CASE("integers that follow from an open extent are not taken for known ones") {
  const std::string head = R"(graph {}
%x: tensor<?xf32> = input()
%d: tensor<8xf32> = input()
%n: tensor<1xi64> = onnx.Shape(%x)
%z: tensor<1xi64> = constant() [0]
)";
  for (const std::string line :
       {"%y: tensor<?xf32> = onnx.Tile(%d, %n)", "%y: tensor<?xf32> = slice(%d, %z, %n)"}) {
    CAPTURE(line);
    const auto bytes = tflite_bytes(graph_of(head + line + "\noutput(%y)\n"));
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().message.find("computed") != std::string::npos);
  }
  // A shape may be asked for as it comes.
  CHECK(operators_of(head + "%k: tensor<1xf32> = input()\n%y: tensor<?xf32> = expand(%k, %n)\n" +
                     "output(%y)\n") == Names{"SHAPE", "CAST", "BROADCAST_TO"});
}

TEST_CASE("codes of several scales along an open extent are refused") {
  const auto bytes = tflite_bytes(graph_of(R"(graph {}
%x: tensor<?x2x!quant.uniform<i8:f32:0, {1.0, 1.25, 1.5}>> = input()
%y: tensor<?x2xf32> = dequantize(%x)
output(%y)
)"));
  REQUIRE_FALSE(bytes.has_value());
  CHECK(bytes.error().message.find("scales along an axis whose extent is known only at run time") !=
        std::string::npos);
}

TEST_CASE("two unknown extents are not taken for the same") {
  const auto bytes = tflite_bytes(graph_of(R"(graph {}
%x: tensor<1x1x?x?xf32> = input()
%t: tensor<1x1x?x?xf32> = input()
%n: tensor<4xi64> = onnx.Shape(%t)
%y: tensor<1x1x?x?xf32> = onnx.Resize(%x, _, _, %n) {mode = "nearest"}
output(%y)
)"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().message.find("whose extents are known only at run time") !=
        std::string::npos);
}

TEST_CASE("plain codes are labelled") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<2x3xi8> = input()
%c: tensor<2x3x!quant.uniform<i8:f32, 0.5:1>> = storage_cast(%x)
%y: tensor<2x3xf32> = dequantize(%c)
output(%y)
)")));
  CHECK(operators_of(model) == Names{"DEQUANTIZE"});
  CHECK(tensor_of(model, "x").quantization->scale == std::vector<float>{0.5F});
}

TEST_CASE("codes that are meant by other scales come back as they were meant") {
  const Graph graph = graph_of(R"(graph {}
%x: tensor<3x!quant.uniform<i8:f32, 0.5>> = input()
%c: tensor<3xi8> = storage_cast(%x)
%y: tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0}>> = storage_cast(%c)
%r: tensor<3xf32> = dequantize(%y)
%s: tensor<3xf32> = dequantize(%x)
output(%r)
output(%s)
)");
  const auto again = read_tflite(bytes_of(graph));
  REQUIRE(again.has_value());
  const NodeRef real = again->ref(again->find_value("r").node);
  CHECK(to_string(*real.operand_type(0)) == "tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0}>>");
}

TEST_CASE("the signature lists inputs and outputs") {
  schema::ModelT model = model_of(bytes_of(graph_of(codes)));
  REQUIRE(model.signature_defs.size() == 1);
  CHECK(model.signature_defs[0]->inputs[0]->name == "x");
  CHECK(model.signature_defs[0]->outputs[0]->name == "y");
}

TEST_CASE("a normalization by the batch, or by pixels, is no product with numbers of channels") {
  const auto refused = [](std::string_view attributes) {
    const auto bytes = tflite_bytes(graph_of(fmt::format(R"(graph {{}}
%x: tensor<1x2x2xf32> = input()
%n: tensor<2xf32> = constant() [1, 2]
%y: tensor<1x2x2xf32> = onnx.BatchNormalization(%x, %n, %n, %n, %n) {{{}}}
output(%y)
)",
                                                         attributes)));
    REQUIRE_FALSE(bytes);
    return bytes.error().message;
  };
  CHECK(refused("training_mode = 1").find("the mode of training") != std::string::npos);
  CHECK(refused("spatial = 0").find("a mean for each pixel") != std::string::npos);
}

TEST_CASE("tensors between two operators have the shape that they have") {
  const std::string text = R"(graph {}
%a: tensor<2x1xf32> = input()
%b: tensor<2xf32> = input()
%c: tensor<2x1x1xf32> = input()
%y: tensor<2x2x2xf32> = onnx.Max(%a, %b, %c)
output(%y)
)";
  CHECK(read_tflite(bytes_of(graph_of(text))));
}

TEST_CASE("integers are divided by a scale as real numbers") {
  const std::string text = R"(graph {}
%x: tensor<2xi32> = input()
%s: tensor<f32> = input()
%z: tensor<i8> = constant() [0]
%y: tensor<2xi8> = onnx.QuantizeLinear(%x, %s, %z)
output(%y)
)";
  CHECK(read_tflite(bytes_of(graph_of(text))));
}

TEST_CASE("all operations without a counterpart are named") {
  const auto bytes = tflite_bytes(graph_of(R"(graph {}
%x: tensor<2x3xf32> = input()
%a: tensor<2x3xf32> = onnx.Hardmax(%x) {name = "first"}
%b: tensor<2x3xf32> = teleport(%x) {name = "beam"}
%y: tensor<2x3xf32> = add(%a, %b)
output(%y)
)"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == ErrorCode::impossible);
  CHECK(bytes.error().message.find("onnx.Hardmax has no counterpart (first)") != std::string::npos);
  CHECK(bytes.error().message.find("teleport has no counterpart (beam)") != std::string::npos);
  CHECK(bytes.error().message.find("add") == std::string::npos);
}

TEST_CASE("a file appears complete or not at all") {
  const quadrant::test::TemporaryFolder folder;
  const auto report = write_tflite(graph_of(codes), folder / "m.tflite");
  REQUIRE(report);
  CHECK(report->file_bytes == std::filesystem::file_size(folder / "m.tflite"));
  CHECK(report->operators == 5);
  CHECK(read_tflite(folder / "m.tflite").has_value());
  const auto failed = write_tflite(graph_of(codes), folder / "no/m.tflite");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::io);
}

TEST_CASE("a fake_quantize is arithmetic, and what reads it reads on") {
  constexpr std::string_view text = R"(graph {}
%x: tensor<1x2x4x4xf32> = input()
%low: tensor<2x1x1xf32> = input()
%high: tensor<f32> = constant() [1.27]
%f: tensor<1x2x4x4xf32> = fake_quantize(%x, %low, %high, %low, %high) {levels = 256}
%y: tensor<1x2x4x4xf32> = onnx.Relu(%f)
output(%f) {name = "f"}
output(%y) {name = "y"}
)";
  TfliteWriteReport report;
  schema::ModelT model = model_of(bytes_of(graph_of(text), &report));
  CHECK(operators_of(model) == Names{"SUB", "SUB", "SUB", "DIV", "MUL", "ROUND", "DIV", "MUL",
                                     "ADD", "MAXIMUM", "GREATER", "SELECT_V2", "MINIMUM",
                                     "LESS_EQUAL", "SELECT_V2", "RELU"});
  CHECK(main_of(model).operators[14]->outputs == main_of(model).operators[15]->inputs);
  CHECK(tensor_of(model, "f").shape == std::vector<std::int32_t>{1, 2, 4, 4});
  REQUIRE(report.decomposed.size() == 1);
  CHECK(report.decomposed[0].name == "f");
}

TEST_CASE("a fake_quantize whose result is codes is arithmetic between conversions") {
  schema::ModelT model = model_of(bytes_of(graph_of(R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32, 0.5:3>> = input()
%a: tensor<f32> = input()
%f: tensor<2x3x!quant.uniform<i8:f32, 0.25>> = fake_quantize(%x, %a, %a, %a, %a) {levels = 256}
output(%f)
)")));
  const Names names = operators_of(model);
  CHECK(names.front() == "DEQUANTIZE");
  CHECK(names.back() == "QUANTIZE");
  CHECK(names.size() == 17);
}

TEST_CASE("a fake_quantize that TFLite cannot compute is named, with the reason") {
  const auto bytes = tflite_bytes(graph_of(R"(graph {}
%x: tensor<2x3xf64> = input()
%a: tensor<f64> = input()
%f: tensor<2x3xf64> = fake_quantize(%x, %a, %a, %a, %a) {levels = 256, name = "fine"}
output(%f)
)"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().message.find("fake_quantize: computes in f64, TFLite in f32") !=
        std::string::npos);
}

TEST_CASE("codes that no tensor of a file has are named, in a graph that nobody verified") {
  const Constant scale =
      Constant::from_values<float>(ElementType::float32, Shape::scalar(), std::array{1.0F});
  const ScaledFormat nf4{*parse_number_format("nf4 * f32[tensor] : f32"), {scale}, {}, {}};
  const Constant codes = Constant::from_values<std::uint8_t>(ElementType::uint4, Shape{2},
                                                             std::array<std::uint8_t, 2>{1, 2});
  Graph of_input;
  of_input.add_output("y", of_input.add_input("x", {ElementType::uint4, Shape{2}, nf4}));
  Graph of_constant;
  const Value w = of_constant.add_constant("w", codes);
  of_constant.set_constant(w.node, codes, nf4);
  of_constant.add_output("y", w);
  for (const Graph& graph : {of_input, of_constant}) {
    const auto bytes = tflite_bytes(graph);
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().code == ErrorCode::impossible);
    CHECK(bytes.error().message.find("TFLite has no codes of nf4 * f32[tensor] : f32: the nearest "
                                     "that it has are i4") != std::string::npos);
  }
}
