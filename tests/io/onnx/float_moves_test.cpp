// Graphs that move 4-bit codes, before and after. What comes out is run in tests/peers.
#include "io/onnx/float_moves.hpp"

#include <doctest/doctest.h>

#include <string>

#include "io/onnx/failure.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

// Scales of each row: 1 and 2, the second row with a zero point of 3.
const std::string by_row = "!quant.uniform<i4:f32:0, {1.0, 2.0:3}>";
const std::string by_row_wide = "!quant.uniform<i8<-8:7>:f32:0, {1.0, 2.0:3}>";

std::string after(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) FAIL(to_string(graph.error()));
  onnx::avoid_moves_of_4_bits(*graph);
  if (auto valid = verify(*graph); !valid) FAIL(to_string(valid.error()));
  return print_graph(*graph);
}

/// A constant of two rows, `%c`.
std::string rows(const std::string& type = by_row) {
  return "%c: tensor<2x3x" + type + "> = constant() [1, 2, 3, -8, 0, 7]\n";
}

}  // namespace

TEST_CASE("a move of codes becomes one of real values") {
  CHECK(after(rows() + "%m: tensor<2x3x1x" + by_row + "> = onnx.Move(%c) {name = \"move\"}\n" +
              "%r: tensor<2x3x1xf32> = dequantize(%m)\noutput(%r)\n") ==
        rows() + "%c_real: tensor<2x3xf32> = dequantize(%c)\n" +
            "%r: tensor<2x3x1xf32> = onnx.Move(%c_real) {name = \"move\"}\noutput(%r)\n");
}

TEST_CASE("moves behind each other, and a dequantize that is there already") {
  CHECK(after(rows() + "%d: tensor<2x3xf32> = dequantize(%c)\noutput(%d)\n" + "%m: tensor<2x3x" +
              by_row + "> = onnx.Move(%c)\n" + "%n: tensor<2x3x" + by_row + "> = onnx.Move(%m)\n" +
              "%k: tensor<2x3x" + by_row + "> = onnx.Join(%n, %c)\n" +
              "%r: tensor<2x3xf32> = dequantize(%k)\noutput(%r)\n") ==
        rows() + "%d: tensor<2x3xf32> = dequantize(%c)\n%m: tensor<2x3xf32> = onnx.Move(%d)\n" +
            "%n: tensor<2x3xf32> = onnx.Move(%m)\n%r: tensor<2x3xf32> = onnx.Join(%n, %d)\n" +
            "output(%d)\noutput(%r)\n");
}

TEST_CASE("several dequantizes behind a move keep their names") {
  const std::string text = after(rows() + "%m: tensor<2x3x" + by_row + "> = onnx.Move(%c)\n" +
                                 "%r: tensor<2x3xf32> = dequantize(%m)\noutput(%r)\n" +
                                 "%s: tensor<2x3xf32> = dequantize(%m)\noutput(%s)\n");
  const bool first = text.find("%s: tensor<2x3xf32> = identity(%r)") != std::string::npos;
  const bool second = text.find("%r: tensor<2x3xf32> = identity(%s)") != std::string::npos;
  CHECK(first != second);
  CHECK(text.find("dequantize(%m)") == std::string::npos);
}

TEST_CASE("where somebody reads codes, they move in 8 bits") {
  const std::string raw = "!quant.uniform<i4:f32, 1.0>";
  const std::string raw_wide = "!quant.uniform<i8<-8:7>:f32, 1.0>";
  CHECK(after(rows() + "%m: tensor<2x3x" + by_row + "> = onnx.Move(%c)\n" +
              "%r: tensor<2x3xf32> = dequantize(%m)\n" + "%p: tensor<2x3xi4> = storage_cast(%m)\n" +
              "%q: tensor<2x3x" + raw + "> = storage_cast(%p)\n" +
              "%s: tensor<2x3xf32> = dequantize(%q)\noutput(%r)\noutput(%s)\n") ==
        rows() + "%c_raw: tensor<2x3xi4> = storage_cast(%c)\n" + "%c_raw_1: tensor<2x3x" + raw +
            "> = storage_cast(%c_raw)\n" + "%c_float: tensor<2x3xf32> = dequantize(%c_raw_1)\n" +
            "%c_wide: tensor<2x3x" + by_row_wide + "> = onnx.Cast(%c_float) {to = 3}\n" +
            "%m: tensor<2x3x" + by_row_wide + "> = onnx.Move(%c_wide)\n" +
            "%r: tensor<2x3xf32> = dequantize(%m)\n" + "%p: tensor<2x3xi8> = storage_cast(%m)\n" +
            "%q: tensor<2x3x" + raw_wide + "> = storage_cast(%p)\n" +
            "%s: tensor<2x3xf32> = dequantize(%q)\noutput(%r)\noutput(%s)\n");
}

TEST_CASE("codes that are not 4-bit codes, or do not move, stay") {
  const std::string bytes = "!quant.uniform<i8:f32:0, {1.0, 2.0:3}>";
  for (const std::string& text :
       {rows(bytes) + "%m: tensor<2x3x" + bytes +
            "> = onnx.Move(%c)\n%r: tensor<2x3xf32> = dequantize(%m)\noutput(%r)\n",
        rows() + "%r: tensor<2x3xf32> = dequantize(%c)\noutput(%r)\n",
        rows() + "%r: tensor<2x3xf32> = onnx.Product(%c)\noutput(%r)\n"}) {
    CHECK(after(text) == text);
  }
}

TEST_CASE("moved 4-bit codes cannot leave the graph") {
  auto graph = parse_graph(rows() + "%m: tensor<2x3x" + by_row + "> = onnx.Move(%c)\noutput(%m)\n");
  REQUIRE(graph);
  CHECK_THROWS_AS(onnx::avoid_moves_of_4_bits(*graph), onnx::Failure);
}

TEST_CASE("a long chain of moves") {
  const std::uint32_t length = test::shortened(100'000U);
  Graph graph;
  auto made = parse_graph(rows() + "%r: tensor<2x3xf32> = dequantize(%c)\noutput(%r)\n");
  REQUIRE(made);
  graph = *std::move(made);
  Value value = graph.find_value("c");
  const NodeId dequantize = graph.find_value("r").node;
  for (std::uint32_t i = 0; i < length; ++i) {
    NodeSpec move;
    move.kind = "onnx.Move";
    move.operands = {value};
    move.results = {{{}, graph.type(value)}};
    value = {graph.add(std::move(move))};
  }
  graph.set_operand(dequantize, 0, value);
  onnx::avoid_moves_of_4_bits(graph);
  CHECK(graph.node_count() == length + 3);  // the constant, the output, and a dequantize in front
  CHECK(graph.kind(graph.find_value("r").node) == "onnx.Move");
}
