#include "quadrant/ir/explicit_quantization.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  const auto valid = verify(*graph);
  REQUIRE_MESSAGE(valid, (valid ? "" : to_string(valid.error())), text);
  return *std::move(graph);
}

// The lines in any order of nodes that do not read one another.
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line != "graph {}") found.push_back(line);
  }
  std::ranges::sort(found);
  return found;
}

void check_same(const std::string& found, const std::string& expected) {
  CHECK_MESSAGE(lines(found) == lines(expected), found, "\nbut should be\n", expected);
}

// Checks what all graphs have in common, and hands back the text.
std::string explicit_text(std::string_view text) {
  Graph graph = parsed(text);
  const MovedCodes moved = make_quantization_explicit(graph);
  const auto valid = verify(graph);
  CHECK_MESSAGE(valid, (valid ? "" : to_string(valid.error())), print_graph(graph));
  CHECK(is_quantization_explicit(graph));
  std::string printed = print_graph(graph);
  CHECK(is_quantization_explicit(parsed(text)) == (printed == print_graph(parsed(text))));
  for (const auto& [before, after] : moved) {
    CHECK_FALSE(graph.type(before).is_quantized());
    CHECK(graph.type(after).is_quantized());
    CHECK(graph.operands(after.node)[0] == before);
  }
  CHECK(make_quantization_explicit(graph).empty());
  check_same(print_graph(graph), printed);
  return printed;
}

void check_unchanged(std::string_view text) {
  check_same(explicit_text(text), print_graph(parsed(text)));
}

}  // namespace

TEST_CASE("explicit quantization: an operation computes on real values, between conversions") {
  check_same(explicit_text(R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<3x2x!quant.uniform<i8:f32:1, {0.25, 2.0}>> = constant() [1, 2, 3, 4, 5, 6]
%y: tensor<2x2x!quant.uniform<u8:f32, 0.1:7>> = matmul(%x, %w) {name = "dense"}
%z: tensor<2x2x!quant.uniform<u8:f32, 0.2:3>> = onnx.Relu(%y)
output(%z) {name = "out"}
)"),
             R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = input()
%x_dequantized: tensor<2x3xf32> = dequantize(%x) {name = "x_dequantized_dequantize"}
%w_quantized: tensor<3x2x!quant.uniform<i8:f32:1, {0.25, 2.0}>> = constant() [1, 2, 3, 4, 5, 6]
%w: tensor<3x2xf32> = dequantize(%w_quantized) {name = "w_dequantize"}
%y_unquantized: tensor<2x2xf32> = matmul(%x_dequantized, %w) {name = "dense"}
%y_quantized: tensor<2x2x!quant.uniform<u8:f32, 0.1:7>> = quantize(%y_unquantized) {name = "y_quantize"}
%y: tensor<2x2xf32> = dequantize(%y_quantized) {name = "y_dequantize"}
%z_unquantized: tensor<2x2xf32> = onnx.Relu(%y)
%z: tensor<2x2x!quant.uniform<u8:f32, 0.2:3>> = quantize(%z_unquantized) {name = "z_quantize"}
output(%z) {name = "out"}
)");
}

TEST_CASE("explicit quantization: operators of files that are defined on codes read codes") {
  for (const std::string kind : {"onnx.MatMulInteger", "onnx.com.microsoft::MatMulInteger16",
                                 "onnx.ConvInteger", "onnx.com.microsoft::QLinearAdd"}) {
    CAPTURE(kind);
    Graph graph = parsed(
        "graph {}\n%a: tensor<*x!quant.uniform<i8:f32, 0.5>> = input()\n%c: "
        "tensor<*xi32> = " +
        kind + "(%a, %a)\noutput(%c)\n");
    make_quantization_explicit(graph);
    CHECK(graph.operands(graph.find_value("c").node)[0] == graph.find_value("a"));
  }
}

TEST_CASE("explicit quantization: whatever computes is between conversions, known or not") {
  for (const std::string kind :
       {"add", "multiply", "matmul", "batch_matmul", "linear", "gemm", "conv", "conv_transpose",
        "einsum", "onnx.MaxPool", "onnx.Softmax", "onnx.Sigmoid", "onnx.Pad", "onnx.Resize",
        "onnx.Clip", "com.example::Own"}) {
    CAPTURE(kind);
    const bool has_equation = kind == "einsum";
    Graph graph = parsed(
        "graph {}\n"
        "%a: tensor<*x!quant.uniform<i8:f32, 0.5>> = input()\n"
        "%b: tensor<*x!quant.uniform<i8:f32, 0.25:1>> = input()\n"
        "%c: tensor<*x!quant.uniform<i8:f32, 2.0>> = " +
        kind + "(%a, %b)" + (has_equation ? " {equation = \"ijk,ikl->ijl\"}" : "") +
        "\n%d: tensor<*xf32> = onnx.Abs(%c)\noutput(%d)\n");
    const Value c = graph.find_value("c");
    const NodeId computes = c.node;
    const MovedCodes moved = make_quantization_explicit(graph);
    CHECK(verify(graph));
    REQUIRE(moved.size() == 1);
    REQUIRE(moved.contains(c));
    CHECK(graph.kind(moved.at(c).node) == "quantize");
    CHECK(graph.kind(computes) == kind);
    CHECK(graph.value_name({computes}) == "c_unquantized");
    for (const Value operand : graph.operands(computes)) {
      CHECK(graph.kind(operand.node) == "dequantize");
    }
    CHECK(graph.operands(graph.find_value("d").node)[0] == graph.find_value("c"));
    CHECK(graph.kind(graph.find_value("c").node) == "dequantize");
    CHECK(graph.operands(graph.find_value("c").node)[0] == moved.at(c));
  }
}

TEST_CASE("explicit quantization: operations that move codes without looking stay") {
  check_unchanged(R"(graph {}
%x: tensor<2x6x!quant.uniform<i8:f32, 0.5:3>> = input()
%order: tensor<2xi64> = constant() [3, 4]
%ends: tensor<1xi64> = constant() [2]
%starts: tensor<1xi64> = constant() [0]
%row: tensor<i64> = constant() [1]
%a: tensor<6x2x!quant.uniform<i8:f32, 0.5:3>> = transpose(%x)
%b: tensor<3x4x!quant.uniform<i8:f32, 0.5:3>> = reshape(%a, %order)
%c: tensor<3x4x!quant.uniform<i8:f32, 0.5:3>> = identity(%b)
%d: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>> = slice(%c, %starts, %ends)
%e: tensor<4x4x!quant.uniform<i8:f32, 0.5:3>> = concat(%d, %d) {axis = 0}
%f: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, %g: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>> = split(%e) {axis = 0}
%h: tensor<4x!quant.uniform<i8:f32, 0.5:3>> = gather(%f, %row)
%i: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>> = flatten(%g)
output(%h)
output(%i)
)");
  // With a scale for each channel the type says where the channels went.
  check_unchanged(R"(graph {}
%w: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> = constant() [1, 2, 3, 4, 5, 6]
%t: tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = transpose(%w)
%r: tensor<3x2xf32> = dequantize(%t)
output(%r)
)");
}

TEST_CASE("explicit quantization: what only looks like a move is spelled out") {
  check_same(explicit_text(R"(graph {}
%x: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
%y: tensor<2x!quant.uniform<i8:f32, 0.25>> = input()
%z: tensor<4x!quant.uniform<i8:f32, 0.5>> = concat(%x, %y) {axis = 0}
output(%z)
)"),
             R"(graph {}
%x: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
%y: tensor<2x!quant.uniform<i8:f32, 0.25>> = input()
%x_dequantized: tensor<2xf32> = dequantize(%x) {name = "x_dequantized_dequantize"}
%y_dequantized: tensor<2xf32> = dequantize(%y) {name = "y_dequantized_dequantize"}
%z_unquantized: tensor<4xf32> = concat(%x_dequantized, %y_dequantized) {axis = 0}
%z: tensor<4x!quant.uniform<i8:f32, 0.5>> = quantize(%z_unquantized) {name = "z_quantize"}
output(%z)
)");
  // Codes and reals together.
  check_same(explicit_text(R"(graph {}
%x: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
%r: tensor<2xf32> = input()
%c: tensor<4x!quant.uniform<i8:f32, 0.5>> = concat(%x, %r) {axis = 0}
output(%c)
)"),
             R"(graph {}
%x: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
%r: tensor<2xf32> = input()
%x_dequantized: tensor<2xf32> = dequantize(%x) {name = "x_dequantized_dequantize"}
%c_unquantized: tensor<4xf32> = concat(%x_dequantized, %r) {axis = 0}
%c: tensor<4x!quant.uniform<i8:f32, 0.5>> = quantize(%c_unquantized) {name = "c_quantize"}
output(%c)
)");
}

TEST_CASE("explicit quantization: readers share a dequantize, and one that is there is used") {
  const std::string text = explicit_text(R"(graph {}
%w: tensor<2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2]
%x: tensor<2xf32> = input()
%a: tensor<2xf32> = add(%w, %w)
%b: tensor<2xf32> = multiply(%w, %x)
%c: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%d: tensor<2xf32> = dequantize(%c)
%e: tensor<2xf32> = onnx.Abs(%c)
output(%a)
output(%b)
output(%d)
output(%e)
)");
  check_same(text, R"(graph {}
%x: tensor<2xf32> = input()
%w_quantized: tensor<2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2]
%c: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%d: tensor<2xf32> = dequantize(%c)
%e: tensor<2xf32> = onnx.Abs(%d)
%w: tensor<2xf32> = dequantize(%w_quantized) {name = "w_dequantize"}
%a: tensor<2xf32> = add(%w, %w)
%b: tensor<2xf32> = multiply(%w, %x)
output(%a)
output(%b)
output(%d)
output(%e)
)");
}

TEST_CASE("explicit quantization: codes of a quantize that was there, and of outputs, keep names") {
  check_same(explicit_text(R"(graph {}
%x: tensor<2xf32> = input()
%c: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%y: tensor<2x!quant.uniform<i8:f32, 0.25>> = onnx.Abs(%c)
%z: tensor<2xf32> = onnx.Neg(%y)
output(%y)
output(%z)
)"),
             R"(graph {}
%x: tensor<2xf32> = input()
%c: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%c_dequantized: tensor<2xf32> = dequantize(%c) {name = "c_dequantized_dequantize"}
%y_unquantized: tensor<2xf32> = onnx.Abs(%c_dequantized)
%y: tensor<2x!quant.uniform<i8:f32, 0.25>> = quantize(%y_unquantized) {name = "y_quantize"}
%y_dequantized: tensor<2xf32> = dequantize(%y) {name = "y_dequantized_dequantize"}
%z: tensor<2xf32> = onnx.Neg(%y_dequantized)
output(%y)
output(%z)
)");
}

TEST_CASE("explicit quantization: real values that are there keep their name") {
  check_same(explicit_text(R"(graph {}
%x: tensor<2xf32> = input()
%codes: tensor<2x!quant.uniform<i8:f32, 0.25>> = onnx.Abs(%x)
%y: tensor<2xf32> = dequantize(%codes)
output(%y)
)"),
             R"(graph {}
%x: tensor<2xf32> = input()
%y_unquantized: tensor<2xf32> = onnx.Abs(%x)
%codes: tensor<2x!quant.uniform<i8:f32, 0.25>> = quantize(%y_unquantized) {name = "codes_quantize"}
%y: tensor<2xf32> = dequantize(%codes)
output(%y)
)");
}

TEST_CASE("explicit quantization: several results, absent operands, names that are taken") {
  Graph graph = parsed(R"(graph {}
%x: tensor<2x3x4xf32> = input()
%w: tensor<1x8x4x!quant.uniform<i8:f32, 0.5>> = input()
%r: tensor<1x8x2x!quant.uniform<i8:f32, 0.5>> = input()
%x_quantized: tensor<2xf32> = input()
%y: tensor<2x1x3x2x!quant.uniform<i8:f32, 0.1>>, %h: tensor<1x3x2xf32>, %c: tensor<1x3x2x!quant.uniform<i8:f32, 0.3>> = lstm(%x, %w, %r, _, _)
%h_unquantized: tensor<1x3x2xf32> = onnx.Abs(%c)
%c_unquantized: tensor<1x3x2xf32> = onnx.Abs(%h)
output(%y)
output(%h_unquantized)
output(%c_unquantized)
)");
  const NodeId layer = graph.find_value("y").node;
  const MovedCodes moved = make_quantization_explicit(graph);
  CHECK(verify(graph));
  CHECK(moved.size() == 2);
  CHECK_FALSE(moved.contains({layer, 1}));
  REQUIRE(moved.contains({layer, 0}));
  REQUIRE(moved.contains({layer, 2}));
  CHECK(graph.value_name(moved.at({layer, 0})) == "y");
  CHECK(graph.value_name({layer, 1}) == "h");
  CHECK(graph.value_name({layer, 2}) != "c_unquantized");  // somebody else's
  CHECK(graph.kind(graph.find_value("c_unquantized").node) == "onnx.Abs");
  CHECK(graph.operands(layer)[3].is_absent());
  CHECK(graph.kind(graph.operands(layer)[1].node) == "dequantize");
}

TEST_CASE("explicit quantization: moves under the names of files stay, too") {
  check_unchanged(R"(graph {}
%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> = input()
%t: tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = onnx.Transpose(%x) {perm = [1, 0]}
%y: tensor<3x2xf32> = dequantize(%t)
output(%y)
)");
}

TEST_CASE("explicit quantization: nothing to do in a graph of reals, or none") {
  check_unchanged("graph {}\n");
  check_unchanged(R"(graph {}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = add(%x, %x)
output(%y)
)");
  // A cast between codes and integers says itself what it is.
  check_unchanged(R"(graph {}
%x: tensor<2xi8> = input()
%q: tensor<2x!quant.uniform<i8:f32, 0.5>> = storage_cast(%x)
%y: tensor<2xi8> = storage_cast(%q)
output(%y)
)");
}

namespace {

std::string real_name_in(std::string_view text, std::string_view codes) {
  const Graph graph = parsed(text);
  return std::string(real_name_of(graph, graph.find_value(codes)));
}

}  // namespace

TEST_CASE("explicit quantization: real names are found again, with names that are taken") {
  // Beside each value there is one that has the name which its form would have.
  Graph graph = parsed(R"(graph {}
%x: tensor<2xf32> = input()
%i: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
%i_dequantized: tensor<2xf32> = onnx.Abs(%x)
%w: tensor<2x!quant.uniform<i8:f32, 0.25>> = constant() [1, 2]
%w_quantized: tensor<2xf32> = onnx.Neg(%x)
%y: tensor<2x!quant.uniform<i8:f32, 0.125>> = add(%i, %w)
%y_unquantized: tensor<2xf32> = onnx.Abs(%w_quantized)
%z: tensor<2x!quant.uniform<i8:f32, 2>> = onnx.Relu(%y)
%z_unquantized: tensor<2xf32> = onnx.Abs(%y_unquantized)
%z_quantized: tensor<2x!quant.uniform<i8:f32, 4>> = onnx.Neg(%z)
output(%z)
output(%z_unquantized)
output(%z_quantized)
output(%i_dequantized)
)");
  const std::vector<std::string> before{"i", "w", "y", "z", "z_quantized"};
  make_quantization_explicit(graph);
  REQUIRE(verify(graph));
  std::vector<std::string> after;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid() || graph.result_count(node) != 1) continue;
    if (graph.type({node}).is_quantized()) after.emplace_back(real_name_of(graph, {node}));
  }
  std::ranges::sort(after);
  CHECK_MESSAGE(after == before, print_graph(graph));
  CHECK_FALSE(graph.find_value("y_unquantized_1").is_absent());  // the collisions did occur
  CHECK_FALSE(graph.find_value("w_quantized_1").is_absent());
  CHECK_FALSE(graph.find_value("i_dequantized_1").is_absent());
}

TEST_CASE("explicit quantization: an ending may belong to the name") {
  // A `quantize` whose codes are called after what it reads.
  CHECK(real_name_in(R"(graph {}
%x_unquantized: tensor<2xf32> = input()
%x_unquantized_quantized: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x_unquantized)
output(%x_unquantized_quantized)
)",
                     "x_unquantized_quantized") == "x_unquantized");
  // What would be left is another value's name.
  CHECK(real_name_in(R"(graph {}
%x: tensor<2xf32> = input()
%x_unquantized: tensor<2xf32> = onnx.Abs(%x)
%codes: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x_unquantized)
output(%codes)
)",
                     "codes") == "x_unquantized");
  CHECK(real_name_in(R"(graph {}
%x: tensor<3xf32> = input()
%x_quantized: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
output(%x)
output(%x_quantized)
)",
                     "x_quantized") == "x_quantized");
  // A number, and nothing that says what it is for.
  CHECK(real_name_in(R"(graph {}
%x: tensor<2xf32> = input()
%y_unquantized_1: tensor<2xf32> = onnx.Abs(%x)
%codes: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%y_unquantized_1)
output(%codes)
)",
                     "codes") == "y_unquantized_1");
  CHECK(real_name_in(R"(graph {}
%y_quantized_1: tensor<2x!quant.uniform<i8:f32, 0.5>> = input()
output(%y_quantized_1)
)",
                     "y_quantized_1") == "y_quantized_1");
  // The name without it is taken, so that is what it is for.
  CHECK(real_name_in(R"(graph {}
%w: tensor<2xf32> = constant() [1, 2]
%w_quantized: tensor<2xf32> = onnx.Abs(%w)
%w_quantized_1: tensor<2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2]
output(%w_quantized)
output(%w_quantized_1)
)",
                     "w_quantized_1") == "w");
}

TEST_CASE("explicit quantization: real names in files of other tools") {
  constexpr std::string_view text = R"(graph {}
%x: tensor<2xf32> = input()
%x_QuantizeLinear_Output: tensor<2x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%w_quantized: tensor<2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2]
%w_DequantizeLinear_Output: tensor<2xf32> = dequantize(%w_quantized)
%b: tensor<2x!quant.uniform<i32:f32, 0.5>> = constant() [1, 2]
%b_DequantizeLinear_Output: tensor<2xf32> = dequantize(%b)
%v8: tensor<2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2]
%v_DequantizeLinear_Output: tensor<2xf32> = dequantize(%v8)
output(%x_QuantizeLinear_Output)
output(%w_DequantizeLinear_Output)
output(%b_DequantizeLinear_Output)
output(%v_DequantizeLinear_Output)
)";
  CHECK(real_name_in(text, "x_QuantizeLinear_Output") == "x");
  CHECK(real_name_in(text, "w_quantized") == "w");
  CHECK(real_name_in(text, "b") == "b");
  CHECK(real_name_in(text, "v8") == "v");
}
