// Graphs to MLIR's text: what operations, types, constants and names become. That mlir-opt takes
// it, and what it computes: tests/peers/mlir_write_test.py.
#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "model_text.hpp"
#include "quadrant/io/mlir.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using quadrant::test::parsed;
using quadrant::test::TemporaryFolder;
using quadrant::test::value_of;

namespace {

std::string text_of(std::string_view graph) { return value_of(mlir_text(parsed(graph))); }

Error refusal_of(std::string_view graph) {
  const auto text = mlir_text(parsed(graph));
  REQUIRE_FALSE(text);
  return text.error();
}

bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("a function has the graph's inputs and outputs, in their order, with their names") {
  const std::string text = text_of(R"(graph {}
%b: tensor<3xu8> = input()
%a: tensor<2x3xf32> = input()
%c: tensor<2x3xf32> = onnx.Relu(%a)
output(%c)
output(%b)
)");
  CHECK(has(text,
            "function_type = (tensor<3xi8>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xi8>)"));
  CHECK(has(
      text,
      R"(arg_attrs = [{quadrant.name = "b", quadrant.element = "u8"}, {quadrant.name = "a"}])"));
  CHECK(has(
      text,
      R"(res_attrs = [{quadrant.name = "c"}, {quadrant.name = "b", quadrant.element = "u8"}])"));
  CHECK(has(text, "^bb0(%0: tensor<3xi8> loc(\"b\"), %1: tensor<2x3xf32> loc(\"a\")):"));
}

TEST_CASE("constants are the digits of their bytes, least significant first") {
  const std::string text = text_of(R"(graph {}
%a: tensor<2xf32> = input()
%b: tensor<2xf32> = constant() [1.0, -2.0]
%c: tensor<2xf32> = add(%a, %b)
output(%c)
)");
  // IEEE 754: 1 is 0x3F800000, -2 is 0xC0000000
  CHECK(has(text, R"(dense<"0x0000803F000000C0"> : tensor<2xf32>)"));
  CHECK(has(text, "\"arith.addf\""));
}

TEST_CASE("a constant that says a shape alone is not there") {
  const std::string text = text_of(R"(graph {}
%a: tensor<2x3xf32> = input()
%s: tensor<1xi64> = constant() [6]
%b: tensor<6xf32> = reshape(%a, %s)
output(%b)
)");
  CHECK(count(text, "arith.constant") == 0);
  CHECK(has(text, "\"tensor.collapse_shape\"(%0) <{reassociation = [[0, 1]]}>"));
}

TEST_CASE("codes of a constant are plain integers, and a cast says what they mean") {
  const std::string text = text_of(R"(graph {}
%x: tensor<1x2xf32> = input()
%w: tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>> = constant() [1, -1, 2, -127]
%r: tensor<2x2xf32> = dequantize(%w)
%y: tensor<1x2xf32> = matmul(%x, %r)
output(%y)
)");
  CHECK(has(text, R"(dense<"0x01FF0281"> : tensor<2x2xi8>)"));
  CHECK(has(
      text,
      R"("quant.scast"(%1) : (tensor<2x2xi8>) -> tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>>)"));
  CHECK(has(text, "\"quant.dcast\"(%2)"));
}

TEST_CASE("codes of 4 bits take a byte each") {
  const std::string text = text_of(R"(graph {}
%w: tensor<3x!quant.uniform<i4:f32, 0.5:-3>> = constant() [1, -1, -8]
%r: tensor<3xf32> = dequantize(%w)
output(%r)
)");
  CHECK(has(text, R"(dense<"0x010F08"> : tensor<3xi4>)"));
  CHECK(has(text, "!quant.uniform<i4:f32, 0.5:-3>"));
}

TEST_CASE("scales have all digits of the number that they are") {
  const std::string text = text_of(R"(graph {}
%x: tensor<2xf32> = input()
%q: tensor<2x!quant.uniform<u8:f32, 0.1:128>> = quantize(%x)
%r: tensor<2xf32> = dequantize(%q)
output(%r)
)");
  // float32(0.1) in the shortest digits of a double
  CHECK(has(text, "!quant.uniform<u8:f32, 0.10000000149011612:128>"));
  CHECK(count(text, "quant.qcast") == 1);
  CHECK(count(text, "quant.scast") == 0);
}

TEST_CASE("operations on codes compute on real values between casts") {
  const std::string text = text_of(R"(graph {}
%x: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
%y: tensor<2x!quant.uniform<i8:f32, 0.25:1>> = onnx.Sigmoid(%x)
output(%y)
)");
  CHECK(count(text, "quant.dcast") == 1);
  CHECK(count(text, "quant.qcast") == 1);
  CHECK(text.find("quant.dcast") < text.find("math.exp"));
  CHECK(text.find("math.exp") < text.find("quant.qcast"));
}

TEST_CASE("operations that move codes move plain integers") {
  const std::string text = text_of(R"(graph {}
%x: tensor<2x3x!quant.uniform<u8:f32, 0.5:7>> = input()
%y: tensor<3x2x!quant.uniform<u8:f32, 0.5:7>> = transpose(%x) {perm = [1, 0]}
output(%y)
)");
  CHECK(count(text, "quant.scast") == 2);
  CHECK(has(text, "\"linalg.transpose\""));
  CHECK(has(text, "(tensor<2x3xi8>, tensor<3x2xi8>) -> tensor<3x2xi8>"));
}

TEST_CASE("numbers without digits are bits") {
  const std::string text = text_of(R"(graph {}
%x: tensor<2x3xf32> = input()
%y: tensor<2x3xf32> = onnx.Softmax(%x) {axis = 1}
output(%y)
)");
  CHECK(has(text, "0xFF800000 : f32"));  // minus infinity, with which a maximum begins
}

TEST_CASE("open extents are refused by the input that has them") {
  const Error error = refusal_of(R"(graph {}
%x: tensor<?x3xf32> = input()
%y: tensor<?x3xf32> = onnx.Relu(%x)
output(%y)
)");
  CHECK(error.code == ErrorCode::impossible);
  CHECK(error.place.tensor == "x");
  CHECK(error.message.find("?x3") != std::string::npos);
  CHECK(error.remedy == Remedy::fix_shapes);
}

TEST_CASE("all operations without a counterpart are named at once, and nothing behind them") {
  const Error error = refusal_of(R"(graph {}
%x: tensor<2x3xf32> = input()
%a: tensor<2x3xf32> = onnx.Hardmax(%x)
%b: tensor<2x3xf32> = onnx.Relu(%a)
%c: tensor<2x3xf32> = onnx.LpNormalization(%x)
output(%b)
output(%c)
)");
  CHECK(error.code == ErrorCode::impossible);
  CHECK(error.message ==
        "MLIR has no counterpart for: onnx.Hardmax ('a'); onnx.LpNormalization ('c')");
}

TEST_CASE("what ONNX Runtime calls by a name of its own is written as what ONNX calls it") {
  const std::string own = text_of(R"(graph {opset = 20}
%x: tensor<2x3xf32> = input()
%y: tensor<*xf32> = onnx.com.microsoft::Gelu(%x) {name = "act"}
output(%y)
)");
  const std::string standard = text_of(R"(graph {opset = 20}
%x: tensor<2x3xf32> = input()
%y: tensor<*xf32> = onnx.Gelu(%x) {name = "act"}
output(%y)
)");
  CHECK(own == standard);
}

TEST_CASE("groups of channels are normalized, each of them by its own mean") {
  const auto written = [](std::int64_t opset, std::string_view scales) {
    Graph graph = parsed(fmt::format(R"(graph {{}}
%x: tensor<2x6x4xf32> = input()
%s: tensor<{}xf32> = input()
%y: tensor<2x6x4xf32> = onnx.GroupNormalization(%x, %s, %s) {{num_groups = 3}}
output(%y)
)",
                                     scales));
    graph.attributes().set("onnx.opset_domains", std::vector<std::string>{""});
    graph.attributes().set("onnx.opset_versions", std::vector<std::int64_t>{opset});
    return mlir_text(graph);
  };
  CHECK(has(value_of(written(21, "6")), "tensor<2x3x8xf32>"));
  // Until then scales were those of groups.
  CHECK(has(value_of(written(18, "3")), "tensor<2x3x8xf32>"));
  CHECK(written(18, "6").error().code == ErrorCode::invalid_model);
}

TEST_CASE("blocks and negative scales are refused") {
  const Error blocks = refusal_of(R"(graph {}
%w: tensor<2x4x!quant.uniform<i8:f32:{1:2}, {0.5, 0.25, 0.5, 0.25}>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%r: tensor<2x4xf32> = dequantize(%w)
output(%r)
)");
  CHECK(blocks.code == ErrorCode::impossible);
  CHECK(blocks.remedy == Remedy::scales_of_channels);
  const Error negative = refusal_of(R"(graph {}
%w: tensor<2x!quant.uniform<i8:f32, -0.5>> = constant() [1, 2]
%r: tensor<2xf32> = dequantize(%w)
output(%r)
)");
  CHECK(negative.message.find("a scale of -") != std::string::npos);
}

TEST_CASE("strings end where they end") {
  const std::string text = text_of(R"(graph {}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = onnx.Relu(%x)
output(%y)
)");
  Graph graph = parsed(R"(graph {}
%x: tensor<2xf32> = input()
output(%x)
)");
  graph.set_value_name({graph.inputs()[0]}, "a\"\n\\");
  CHECK(has(value_of(mlir_text(graph)), R"(quadrant.name = "a\22\0A\5C")"));
  CHECK(count(text, "\"") % 2 == 0);
}

TEST_CASE("a file appears complete or not at all") {
  const TemporaryFolder folder;
  const Graph good = parsed(R"(graph {}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = onnx.Relu(%x)
output(%y)
)");
  const MlirWriteReport report = value_of(write_mlir(good, folder / "good.mlir"));
  CHECK(report.file_bytes == std::filesystem::file_size(folder / "good.mlir"));
  CHECK(report.file_bytes == value_of(mlir_text(good)).size());
  CHECK(report.operations > 0);
  const Graph bad = parsed(R"(graph {}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = onnx.Hardmax(%x)
output(%y)
)");
  const auto failed = write_mlir(bad, folder / "bad.mlir");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().place.file == folder / "bad.mlir");
  CHECK_FALSE(std::filesystem::exists(folder / "bad.mlir"));
  CHECK(write_mlir(good, folder / "none/good.mlir").error().code == ErrorCode::io);
}
