#include "quadrant/ir/shape_inference.hpp"

#include <doctest/doctest.h>

#include "build.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

// The type of %y in the text after inference, or the error's message.
std::string infer(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  if (auto inferred = infer_shapes(*graph); !inferred) {
    CHECK(inferred.error().code == ErrorCode::invalid_model);
    CHECK(inferred.error().place.node == "y");
    return "error: " + inferred.error().message;
  }
  return to_string(graph->type(graph->find_value("y")));
}

bool fails(std::string_view text) { return infer(text).starts_with("error: "); }

std::string unary(std::string_view operand, std::string_view rest) {
  return "%x: " + std::string(operand) + " = input()\n%y: " + std::string(rest);
}

struct OnnxCase {
  std::string_view text;
  std::string_view expected;
};
constexpr OnnxCase onnx_cases[] = {
#include "onnx_shapes.inc"
};

// Whether `type` says no less than `known`: a known extent stays known.
bool refines(std::string_view text, const std::string& type, std::string_view known) {
  if (type == known) return true;
  if (known == "tensor<*xf32>") return type.ends_with("xf32>");
  CAPTURE(text);
  auto a = parse_graph("%y: " + type + " = input()");
  auto b = parse_graph("%y: " + std::string(known) + " = input()");
  REQUIRE(a);
  REQUIRE(b);
  const Shape& shape_a = a->type(a->find_value("y")).shape;
  const Shape& shape_b = b->type(b->find_value("y")).shape;
  if (shape_a.rank() != shape_b.rank()) return false;
  for (std::int64_t axis = 0; axis < shape_a.rank(); ++axis) {
    if (shape_b[axis] != Shape::dynamic && shape_a[axis] != shape_b[axis]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("agrees with onnx's shape inference") {
  int exact = 0;
  for (const auto& [text, expected] : onnx_cases) {
    CAPTURE(text);
    const std::string inferred = infer(text);
    if (expected == "error") {
      CHECK_MESSAGE(inferred.starts_with("error"), inferred);
      ++exact;
    } else {
      CHECK_MESSAGE(refines(text, inferred, expected), inferred << " for " << expected);
      exact += inferred == expected ? 1 : 0;
    }
  }
  // The rest is known here and unknown there.
  CHECK(exact >= static_cast<int>(std::size(onnx_cases)) * 9 / 10);
}

TEST_CASE("matmul: unknown extents broadcast to what they must be") {
  const auto y = [](std::string_view a, std::string_view b) {
    return infer("%a: " + std::string(a) + " = input()\n%b: " + std::string(b) +
                 " = input()\n%y: tensor<*xundefined> = matmul(%a, %b)");
  };
  CHECK(y("tensor<?x2x3xf32>", "tensor<4x3x5xf32>") == "tensor<4x2x5xf32>");
  CHECK(y("tensor<?x2x3xf32>", "tensor<1x3x5xf32>") == "tensor<?x2x5xf32>");
  CHECK(y("tensor<?x2x3xf32>", "tensor<?x3x5xf32>") == "tensor<?x2x5xf32>");
  CHECK(y("tensor<3xf32>", "tensor<3xf32>") == "tensor<f32>");
  CHECK(y("tensor<0x3xf32>", "tensor<3x4xf32>") == "tensor<0x4xf32>");
  CHECK(y("tensor<*xf32>", "tensor<3x4xf32>") == "tensor<*xf32>");
  CHECK(y("tensor<2x3xf32>", "tensor<?x4xf32>") == "tensor<2x4xf32>");
  CHECK(y("tensor<2x3xf32>", "tensor<4x4xf32>").starts_with("error"));
  CHECK(y("tensor<f32>", "tensor<4x4xf32>").starts_with("error"));
  CHECK(y("tensor<2x3xf32>", "tensor<3x4xf16>").starts_with("error"));
}

TEST_CASE("gemm checks what onnx does not") {
  const std::string operands =
      "%a: tensor<2x3xf32> = input()\n%b: tensor<3x4xf32> = input()\n"
      "%c: tensor<4xf32> = input()\n%d: tensor<3xf32> = input()\n";
  CHECK(infer(operands + "%y: tensor<*xundefined> = gemm(%a, %b, %c)") == "tensor<2x4xf32>");
  CHECK(infer(operands + "%y: tensor<*xundefined> = gemm(%a, %b, _)") == "tensor<2x4xf32>");
  CHECK(fails(operands + "%y: tensor<*xundefined> = gemm(%a, %b, %d)"));
  CHECK(fails(operands + "%y: tensor<*xundefined> = gemm(%a, %b) {transB = 1}"));
  CHECK(fails(operands + "%y: tensor<*xundefined> = gemm(%a, %c)"));
  CHECK(fails(operands + "%y: tensor<*xundefined> = gemm(%a, _)"));
  CHECK(fails(operands + "%y: tensor<*xundefined> = gemm(%a, %b) {transA = 1.0}"));
}

TEST_CASE("conv of unknown and hostile operands") {
  const auto y = [](std::string_view x, std::string_view w, std::string_view attributes = "") {
    return infer("%x: " + std::string(x) + " = input()\n%w: " + std::string(w) +
                 " = input()\n%y: tensor<*xundefined> = conv(%x, %w) " + std::string(attributes));
  };
  CHECK(y("tensor<*xf32>", "tensor<8x3x3x3xf32>") == "tensor<?x8x?x?xf32>");
  CHECK(y("tensor<1x3x9x9xf32>", "tensor<*xf32>") == "tensor<1x?x?x?xf32>");
  CHECK(y("tensor<1x3x9x9xf32>", "tensor<*xf32>", "{kernel_shape = [3, 3]}") ==
        "tensor<1x?x7x7xf32>");
  CHECK(y("tensor<*xf32>", "tensor<*xf32>") == "tensor<*xf32>");
  CHECK(y("tensor<1x3x9x9xf32>", "tensor<8x3x3x3xf32>") == "tensor<1x8x7x7xf32>");
  const std::string x = "tensor<1x3x9x9xf32>";
  const std::string w = "tensor<8x3x3x3xf32>";
  for (const char* attributes :
       {"{strides = [0, 1]}", "{strides = [-1, 1]}", "{strides = [1]}", "{dilations = [0, 1]}",
        "{pads = [0, 0, 0]}", "{pads = [-1, 0, 0, 0]}", "{group = 0}", "{group = 2}",
        "{group = 9223372036854775807}", "{kernel_shape = [3, 2]}", "{auto_pad = \"SAME\"}",
        "{dilations = [9223372036854775807, 1]}", "{strides = 2}",
        "{pads = [9223372036854775807, 0, 9223372036854775807, 0]}", "{dilations = [5, 1]}"}) {
    CAPTURE(attributes);
    CHECK(y(x, w, attributes).starts_with("error"));
  }
  CHECK(y(x, "tensor<8x4x3x3xf32>").starts_with("error"));
  CHECK(y(x, "tensor<8x3x3xf32>").starts_with("error"));
  CHECK(y(x, "tensor<8x3x0x3xf32>").starts_with("error"));
  CHECK(y("tensor<3xf32>", "tensor<3xf32>").starts_with("error"));
  CHECK(y(x, w, "{strides = [9223372036854775807, 1]}") == "tensor<1x8x1x7xf32>");
  CHECK(y(x, w, "{strides = [], pads = []}") == "tensor<1x8x7x7xf32>");
  CHECK(
      fails("%x: tensor<1x3x9xf32> = input()\n%w: tensor<8x3x3xf32> = input()\n"
            "%b: tensor<7xf32> = input()\n%y: tensor<*xf32> = conv(%x, %w, %b)"));
}

TEST_CASE("reshape") {
  const auto y = [](std::string_view x, std::string_view target, std::string_view attributes = "") {
    return infer("%x: " + std::string(x) + " = input()\n%s: tensor<" +
                 std::to_string(std::count(target.begin(), target.end(), ',') + 1) +
                 "xi64> = constant() [" + std::string(target) +
                 "]\n%y: tensor<*xundefined> = reshape(%x, %s) " + std::string(attributes));
  };
  CHECK(y("tensor<2x3x4xf32>", "4, -1") == "tensor<4x6xf32>");
  CHECK(y("tensor<?x8x16xf32>", "0, -1") == "tensor<?x128xf32>");
  CHECK(y("tensor<?x8x16xf32>", "-1, 16") == "tensor<?x16xf32>");
  CHECK(y("tensor<*xf32>", "0, 5, -1") == "tensor<?x5x?xf32>");
  CHECK(y("tensor<0x4xf32>", "0, -1") == "tensor<0x?xf32>");
  CHECK(y("tensor<0x4xf32>", "4, 0", "{allowzero = 1}") == "tensor<4x0xf32>");
  CHECK(y("tensor<2x4xf32>", "4, 0", "{allowzero = 1}").starts_with("error"));
  CHECK(y("tensor<0x4xf32>", "-1, 0", "{allowzero = 1}").starts_with("error"));
  CHECK(y("tensor<2x4xf32>", "0, 0, 0").starts_with("error"));
  CHECK(y("tensor<2x4xf32>", "-1, -1").starts_with("error"));
  CHECK(y("tensor<2x4xf32>", "-2, 4").starts_with("error"));
  CHECK(y("tensor<2x4xf32>", "3, -1").starts_with("error"));
  CHECK(y("tensor<2x4xf32>", "9").starts_with("error"));
  CHECK(y("tensor<2x4xf32>", "4611686018427387904, 4, -1") ==
        "tensor<4611686018427387904x4x?xf32>");  // beyond 63 bits nothing is said
  CHECK(infer("%x: tensor<2x4xf32> = input()\n%s: tensor<2xi64> = input()\n"
              "%y: tensor<*xundefined> = reshape(%x, %s)") == "tensor<*xf32>");
  CHECK(
      fails("%x: tensor<2xf32> = input()\n%s: tensor<1xf32> = constant() [2]\n"
            "%y: tensor<*xundefined> = reshape(%x, %s)"));
  CHECK(
      fails("%x: tensor<2xf32> = input()\n%s: tensor<i64> = constant() [2]\n"
            "%y: tensor<*xundefined> = reshape(%x, %s)"));
}

TEST_CASE("what is stated is kept and completed") {
  CHECK(infer(unary("tensor<2x3xf32>", "tensor<3x?xf32> = transpose(%x)")) == "tensor<3x2xf32>");
  CHECK(infer(unary("tensor<2x?xf32>", "tensor<3x2xf32> = transpose(%x)")) == "tensor<3x2xf32>");
  CHECK(infer(unary("tensor<*xundefined>", "tensor<3x2xf32> = transpose(%x)")) ==
        "tensor<3x2xf32>");
  CHECK(fails(unary("tensor<2x3xf32>", "tensor<2x3xf32> = transpose(%x)")));
  CHECK(fails(unary("tensor<2x3xf32>", "tensor<3x2xf16> = transpose(%x)")));
  CHECK(fails(unary("tensor<2x3xf32>", "tensor<6xf32> = transpose(%x)")));
  CHECK(infer(unary("tensor<2x3xf32>", "tensor<9xi8> = mystery(%x)")) == "tensor<9xi8>");
  CHECK(infer(unary("tensor<2x3xf32>", "tensor<*xundefined> = mystery(%x)")) ==
        "tensor<*xundefined>");
}

TEST_CASE("transpose") {
  CHECK(infer(unary("tensor<*xf32>", "tensor<*xundefined> = transpose(%x) {perm = [1, 0]}")) ==
        "tensor<?x?xf32>");
  for (const char* perm :
       {"[0]", "[0, 0]", "[0, 2]", "[0, -9223372036854775808]", "[0, 1, 2]", "1"}) {
    CAPTURE(perm);
    CHECK(fails(unary("tensor<2x3xf32>",
                      "tensor<*xundefined> = transpose(%x) {perm = " + std::string(perm) + "}")));
  }
}

TEST_CASE("quantized operands count as their shape; the quantized axis moves with a transpose") {
  const std::string x = "tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>";
  CHECK(infer(unary(x, "tensor<*xundefined> = transpose(%x)")) ==
        "tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>");
  CHECK(infer(unary(x, "tensor<*xundefined> = identity(%x)")) == x);
  CHECK(infer(unary(x, "tensor<*xundefined> = dequantize(%x)")) == "tensor<2x3xf32>");
  CHECK(infer(unary(x, "tensor<*xundefined> = storage_cast(%x)")) == "tensor<2x3xi8>");
  CHECK(infer(unary(x, "tensor<*xundefined> = matmul(%x, %x)")).starts_with("error"));
  CHECK(infer("%x: " + x +
              " = input()\n%w: tensor<3x4xf32> = input()\n"
              "%y: tensor<*xundefined> = matmul(%x, %w)") == "tensor<2x4xundefined>");
  CHECK(infer(unary("tensor<2x3xf32>", "tensor<*x!quant.uniform<i8:f32, 0.5>> = quantize(%x)")) ==
        "tensor<2x3x!quant.uniform<i8:f32, 0.5>>");
  // The same values made twice are the same type; others are not.
  CHECK(infer(unary(x, "tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = transpose(%x)")) ==
        "tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>");
  CHECK(fails(unary(x, "tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.5}>> = transpose(%x)")));
  CHECK(fails(unary(x, "tensor<3x3x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0}>> = transpose(%x)")));
  CHECK(fails(unary(x, "tensor<2x3xi8> = identity(%x)")));
}

TEST_CASE("negative dimensions") {
  Graph graph;
  build::add(graph, "mystery", {}, build::f32({2, -5}), {}, "y");
  const auto inferred = infer_shapes(graph);
  REQUIRE(!inferred);
  CHECK(inferred.error().place.node == "y");
  CHECK(inferred.error().message.find("-5") != std::string::npos);
}

TEST_CASE("tensors of thousands of dimensions are not followed") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32(Shape(std::vector<std::int64_t>(5000, 1))));
  const Value y = build::add(graph, "transpose", {x}, {}, {}, "y");
  REQUIRE(infer_shapes(graph));
  CHECK(!graph.type(y).shape.is_ranked());
}

TEST_CASE("a chain of 100,000 nodes") {
  Graph graph;
  Value value = graph.add_input("x", build::f32({2, 3}));
  for (int i = 0; i < 100000; ++i) value = build::add(graph, "transpose", {value});
  REQUIRE(infer_shapes(graph));
  CHECK(graph.type(value) == build::f32({2, 3}));
}

TEST_CASE("an operand's file that cannot be read is an error of its own") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2, 3}));
  const Value s = graph.add_constant("s", build::deferred(ElementType::int64, {1}, true));
  build::add(graph, "reshape", {x, s}, {}, {}, "y");
  const auto inferred = infer_shapes(graph);
  REQUIRE(!inferred);
  CHECK(inferred.error().code == ErrorCode::io);
}
