#include "ir/shape_inference.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "build.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

// The types of %y and of the other results of its node after inference, or the error's message.
std::string infer(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  if (auto inferred = infer_shapes(*graph); !inferred) {
    CHECK(inferred.error().code == ErrorCode::invalid_model);
    CHECK(inferred.error().place.node == "y");
    return "error: " + inferred.error().message;
  }
  const NodeRef node = graph->ref(graph->find_value("y").node);
  std::string types = to_string(node.type());
  for (std::uint32_t result = 1; result < graph->result_count(node.id); ++result) {
    types += "; " + to_string(node.type(result));
  }
  return types;
}

bool fails(std::string_view text) { return infer(text).starts_with("error: "); }

std::string unary(std::string_view operand, std::string_view rest) {
  return "%x: " + std::string(operand) + " = input()\n%y: " + std::string(rest);
}

}  // namespace

#if __has_include("onnx_shapes.inc")  // made where there is .venv
namespace {

struct OnnxCase {
  std::string_view text;
  std::string_view expected;
};
constexpr OnnxCase onnx_cases[] = {
#include "onnx_shapes.inc"
};

std::vector<std::string> parts(std::string_view types) {
  std::vector<std::string> all;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = types.find("; ");
    all.emplace_back(types.substr(0, end));
    if (end != std::string_view::npos) types.remove_prefix(end + 2);
  }
  return all;
}

// Whether a type says no less than `known`: a known extent stays known.
bool refines_one(const std::string& type, const std::string& known) {
  if (type == known) return true;
  auto a = parse_graph("%y: " + type + " = input()");
  auto b = parse_graph("%y: " + known + " = input()");
  REQUIRE(a);
  REQUIRE(b);
  const TensorType& type_a = a->type(a->find_value("y"));
  const TensorType& type_b = b->type(b->find_value("y"));
  if (type_a.element != type_b.element) return false;
  if (!type_b.shape.is_ranked()) return true;
  if (!type_a.shape.is_ranked() || type_a.shape.rank() != type_b.shape.rank()) return false;
  for (std::int64_t axis = 0; axis < type_a.shape.rank(); ++axis) {
    if (type_b.shape[axis].is_known() && !surely_equal(type_a.shape[axis], type_b.shape[axis])) {
      return false;
    }
  }
  return true;
}

bool refines(const std::string& types, std::string_view known) {
  if (types == known) return true;
  const auto a = parts(types);
  const auto b = parts(known);
  return std::ranges::equal(a, b, refines_one);
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
      CHECK_MESSAGE(refines(inferred, expected), inferred << " for " << expected);
      exact += inferred == expected ? 1 : 0;
    }
  }
  // The rest is known here and unknown there.
  CHECK(exact >= static_cast<int>(std::size(onnx_cases)) * 9 / 10);
}
#endif

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

TEST_CASE("fake_quantize: the type of X, and bounds that go with it") {
  const auto y = [](std::string_view x, std::string_view bound, std::string_view attributes) {
    std::string text = "%x: " + std::string(x) + " = input()\n%a: " + std::string(bound);
    text += " = input()\n%b: " + std::string(bound) + " = input()\n";
    text += "%y: tensor<*xundefined> = fake_quantize(%x, %a, %a, %b, %b) {";
    return infer(text + std::string(attributes) + "}");
  };
  constexpr std::string_view levels = "levels = 256";
  CHECK(y("tensor<2x3xf32>", "tensor<f32>", levels) == "tensor<2x3xf32>");
  CHECK(y("tensor<2x3xf16>", "tensor<3xf16>", levels) == "tensor<2x3xf16>");
  CHECK(y("tensor<2x3xf64>", "tensor<2x1xf64>", levels) == "tensor<2x3xf64>");
  CHECK(y("tensor<?x3xbf16>", "tensor<2x1xbf16>", levels) == "tensor<?x3xbf16>");
  CHECK(y("tensor<*xf32>", "tensor<2x1xf32>", levels) == "tensor<*xf32>");
  CHECK(y("tensor<2x3xf32>", "tensor<*xf32>", levels) == "tensor<2x3xf32>");
  CHECK(y("tensor<2x3xundefined>", "tensor<f32>", levels) == "tensor<2x3xf32>");
  CHECK(y("tensor<2x3xf32>", "tensor<2xf32>", R"(auto_broadcast = "pdpd", levels = 2)") ==
        "tensor<2x3xf32>");

  const std::string no_levels =
      "error: the attribute 'levels' must be there, an integer of at least 2";
  CHECK(y("tensor<2x3xf32>", "tensor<f32>", "") == no_levels);
  CHECK(y("tensor<2x3xf32>", "tensor<f32>", "levels = 1") == no_levels);
  CHECK(y("tensor<2x3xf32>", "tensor<f32>", "levels = 255.0") == no_levels);
  CHECK(y("tensor<2x3xf32>", "tensor<2xf32>", levels) ==
        "error: a bound of shape [2] does not broadcast to [2x3]");
  CHECK(y("tensor<2x3xf32>", "tensor<f16>", levels) == "error: operands of types f32 and f16");
  CHECK(y("tensor<2x3xi8>", "tensor<i8>", levels) ==
        "error: operands of type i8, where float is wanted");
  CHECK(y("tensor<2x3xf32>", "tensor<f32>", R"(auto_broadcast = "numpyy", levels = 2)") ==
        "error: auto_broadcast 'numpyy', where numpy, none or pdpd is wanted");
  CHECK(
      fails("%x: tensor<2xf32> = input()\n"
            "%y: tensor<*xundefined> = fake_quantize(%x, %x, %x, %x) {levels = 2}"));
  CHECK(
      fails("%x: tensor<2xf32> = input()\n"
            "%y: tensor<*xundefined> = fake_quantize(%x, %x, %x, %x, _) {levels = 2}"));
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
              "%y: tensor<*xundefined> = reshape(%x, %s)") == "tensor<?x?xf32>");
  CHECK(
      fails("%x: tensor<2xf32> = input()\n%s: tensor<1xf32> = constant() [2]\n"
            "%y: tensor<*xundefined> = reshape(%x, %s)"));
  CHECK(
      fails("%x: tensor<2xf32> = input()\n%s: tensor<i64> = constant() [2]\n"
            "%y: tensor<*xundefined> = reshape(%x, %s)"));
}

TEST_CASE("add, multiply and expand: unknown extents broadcast to what they must be") {
  const auto y = [](std::string_view a, std::string_view b) {
    const std::string operands =
        "%a: " + std::string(a) + " = input()\n%b: " + std::string(b) + " = input()\n";
    const std::string sum = infer(operands + "%y: tensor<*xundefined> = add(%a, %b)");
    CHECK(infer(operands + "%y: tensor<*xundefined> = multiply(%b, %a)") == sum);
    return sum;
  };
  CHECK(y("tensor<?x3xf32>", "tensor<4x1x3xf32>") == "tensor<4x?x3xf32>");
  CHECK(y("tensor<?xf32>", "tensor<3xf32>") == "tensor<3xf32>");
  CHECK(y("tensor<?xf32>", "tensor<?xf32>") == "tensor<?xf32>");
  CHECK(y("tensor<0xf32>", "tensor<1xf32>") == "tensor<0xf32>");
  CHECK(y("tensor<f32>", "tensor<f32>") == "tensor<f32>");
  CHECK(y("tensor<*xf32>", "tensor<3xf32>") == "tensor<*xf32>");
  CHECK(
      fails("%a: tensor<2xf32> = input()\n%b: tensor<3xf32> = input()\n"
            "%y: tensor<*xundefined> = add(%a, %b)"));
  CHECK(
      fails("%a: tensor<2xf32> = input()\n%b: tensor<2xf16> = input()\n"
            "%y: tensor<*xundefined> = multiply(%a, %b)"));
  // -1 stands for "as it is".
  CHECK(infer("%x: tensor<1x3xf32> = input()\n%s: tensor<3xi64> = constant() [2, -1, -1]\n"
              "%y: tensor<*xundefined> = expand(%x, %s)") == "tensor<2x?x3xf32>");
}

TEST_CASE("squeeze, unsqueeze and flatten of what is not known, and hostile") {
  CHECK(infer(unary("tensor<1x?xf32>", "tensor<*xundefined> = squeeze(%x)")) == "tensor<*xf32>");
  CHECK(infer(unary("tensor<1x?xf32>", "tensor<*xundefined> = squeeze(%x) {axes = [1]}")) ==
        "tensor<1xf32>");
  // onnx keeps all axes then, and ONNX Runtime drops those of extent 1.
  CHECK(infer(unary("tensor<1x2xf32>", "tensor<*xundefined> = squeeze(%x) {axes = []}")) ==
        "tensor<*xf32>");
  CHECK(infer(unary("tensor<1x1xf32>", "tensor<*xundefined> = squeeze(%x) {axes = [0, 0]}")) ==
        "tensor<1xf32>");
  CHECK(infer(unary("tensor<*xf32>", "tensor<*xundefined> = unsqueeze(%x) {axes = [0]}")) ==
        "tensor<*xf32>");
  CHECK(infer("%x: tensor<2xf32> = input()\n%a: tensor<i64> = constant() [1]\n"
              "%y: tensor<*xundefined> = unsqueeze(%x, %a)") == "tensor<2x1xf32>");
  CHECK(infer(unary("tensor<*xf32>", "tensor<*xundefined> = flatten(%x)")) == "tensor<?x?xf32>");
  CHECK(infer(unary("tensor<4611686018427387904x4x2xf32>",
                    "tensor<*xundefined> = flatten(%x) {axis = 2}")) == "tensor<?x2xf32>");
  for (const char* node :
       {"squeeze(%x) {axes = [0]}", "squeeze(%x) {axes = [2]}", "squeeze(%x) {axes = 0}",
        "squeeze(%x) {axes = [-9223372036854775808]}", "unsqueeze(%x)",
        "unsqueeze(%x) {axes = [0, 0]}", "unsqueeze(%x) {axes = [3]}", "flatten(%x) {axis = 3}",
        "flatten(%x) {axis = \"1\"}", "cast(%x)", "cast(%x) {to = 0}", "cast(%x) {to = -7}"}) {
    CAPTURE(node);
    CHECK(fails(unary("tensor<2x3xf32>", "tensor<*xundefined> = " + std::string(node))));
  }
}

TEST_CASE("slices, splits, concats and gathers of what is not known, and hostile") {
  const std::string attributes = " {starts = [1, 0], ends = [2, 5]}";
  CHECK(infer(unary("tensor<4x?x6xf32>", "tensor<*xundefined> = slice(%x)" + attributes)) ==
        "tensor<1x?x6xf32>");
  CHECK(infer("%x: tensor<4x5xf32> = input()\n%s: tensor<1xi64> = input()\n"
              "%e: tensor<1xi64> = constant() [3]\n%a: tensor<1xi64> = constant() [-1]\n"
              "%y: tensor<*xundefined> = slice(%x, %s, %e, %a)") == "tensor<4x?xf32>");
  CHECK(infer(unary("tensor<?x6xf32>",
                    "tensor<*xundefined>, %z: tensor<*xundefined> = split(%x) {split = [1, 2]}")) ==
        "tensor<1x6xf32>; tensor<2x6xf32>");
  CHECK(
      infer(unary("tensor<?x6xf32>", "tensor<*xundefined>, %z: tensor<*xundefined> = split(%x)")) ==
      "tensor<?x6xf32>; tensor<?x6xf32>");
  // What is stated of each result counts.
  CHECK(infer(unary("tensor<?x6xf32>", "tensor<3x6xf32>, %z: tensor<4x?xf32> = split(%x)")) ==
        "tensor<3x6xf32>; tensor<4x6xf32>");
  CHECK(fails(unary("tensor<6xf32>", "tensor<3xf32>, %z: tensor<2xf32> = split(%x)")));
  CHECK(infer("%a: tensor<2x?xf32> = input()\n%b: tensor<?x3xf32> = input()\n"
              "%y: tensor<*xundefined> = concat(%a, %b, %b) {axis = 0}") == "tensor<?x3xf32>");
  CHECK(infer("%a: tensor<2x?xf32> = input()\n%b: tensor<*xf32> = input()\n"
              "%y: tensor<*xundefined> = concat(%b, %a) {axis = -1}") == "tensor<2x?xf32>");
  CHECK(infer("%a: tensor<2x3xf32> = input()\n%i: tensor<?x4xi64> = input()\n"
              "%y: tensor<*xundefined> = gather(%a, %i) {axis = 1}") == "tensor<2x?x4xf32>");
  const std::string x =
      "%x: tensor<4x6xf32> = input()\n%h: tensor<4xf16> = input()\n"
      "%n: tensor<4611686018427387904x6xf32> = input()\n";
  for (const char* node :
       {"slice(%x)", "slice(%x) {starts = [0]}", "slice(%x) {starts = [0], ends = 1}",
        "slice(%x) {starts = [0, 0, 0], ends = [1, 1, 1]}", "split(%x) {axis = 2}",
        "split(%x) {split = [5]}", "split(%x) {num_outputs = 2}", "concat()", "concat(%x)",
        "concat(%x, _) {axis = 0}", "concat(%x, %x) {axis = 2}", "concat(%x, %h) {axis = 0}",
        "concat(%n, %n) {axis = 0}", "gather(%x)", "gather(%x, %x) {axis = 2}", "gather(%h, _)"}) {
    CAPTURE(node);
    CHECK(fails(x + "%y: tensor<*xundefined> = " + node));
  }
}

TEST_CASE("einsum") {
  const auto y = [](std::string_view equation) {
    return infer(
        "%a: tensor<?x3xf32> = input()\n%b: tensor<4x3xf32> = input()\n"
        "%y: tensor<*xundefined> = einsum(%a, %b) {equation = \"" +
        std::string(equation) + "\"}");
  };
  CHECK(y("ik,jk->ij") == "tensor<?x4xf32>");
  CHECK(y("ik, ik") == "tensor<f32>");
  CHECK(y("ik, ik -> i") == "tensor<4xf32>");
  CHECK(y("ik, jk") == "tensor<?x4xf32>");
  CHECK(y("...k, jk -> ...j") == "tensor<*xf32>");
  CHECK(y("ii, jk -> j") == "tensor<*xf32>");
  for (const char* nonsense : {"ik,jk->ix", "ik->i", "ik,jk,->i", "ikl,jk->i", "ik,kj->i", "ik;jk",
                               "ik,jk->ii", "ik,jk>ij"}) {
    CAPTURE(nonsense);
    CHECK(y(nonsense).starts_with("error"));
  }
  CHECK(fails(unary("tensor<2x3xf32>", "tensor<*xundefined> = einsum(%x)")));
}

TEST_CASE("conv_transpose of unknown and hostile operands") {
  const auto y = [](std::string_view x, std::string_view w, std::string_view attributes = "") {
    return infer("%x: " + std::string(x) + " = input()\n%w: " + std::string(w) +
                 " = input()\n%y: tensor<*xundefined> = conv_transpose(%x, %w) " +
                 std::string(attributes));
  };
  CHECK(y("tensor<*xf32>", "tensor<3x8x3x3xf32>") == "tensor<?x8x?x?xf32>");
  CHECK(y("tensor<1x4x9x9xf32>", "tensor<4x8x3x3xf32>", "{group = 2}") == "tensor<1x16x11x11xf32>");
  CHECK(y("tensor<1x3x9x9xf32>", "tensor<*xf32>") == "tensor<1x?x?x?xf32>");
  const std::string x = "tensor<1x3x5x4xf32>";
  const std::string w = "tensor<3x8x3x3xf32>";
  // SAME: where ONNX's text, its shape inference and ONNX Runtime agree.
  CHECK(y(x, w, "{auto_pad = \"SAME_UPPER\", strides = [2, 2]}") == "tensor<1x8x?x8xf32>");
  CHECK(y(x, w, "{auto_pad = \"SAME_LOWER\"}") == "tensor<1x8x5x4xf32>");
  CHECK(y(x, w, "{output_shape = [7, 0]}") == "tensor<1x8x7x?xf32>");
  CHECK(y(x, w, "{output_shape = [1, 8, 7, 6]}") == "tensor<1x8x7x6xf32>");
  for (const char* attributes :
       {"{output_shape = [7]}", "{output_padding = [1]}", "{output_padding = [-1, 0]}",
        "{group = 2}", "{pads = [4, 0, 3, 0]}", "{strides = [9223372036854775807, 1]}",
        "{dilations = [9223372036854775807, 1]}", "{output_padding = [9223372036854775807, 1]}",
        "{pads = [9223372036854775807, 0, 9223372036854775807, 0]}"}) {
    CAPTURE(attributes);
    CHECK(y(x, w, attributes).starts_with("error"));
  }
  CHECK(y("tensor<1x4x9x9xf32>", w).starts_with("error"));
  CHECK(y(x, "tensor<3x8x3xf32>").starts_with("error"));
  CHECK(y(x, "tensor<3x9223372036854775807x3x3xf32>", "{group = 3}").starts_with("error"));
}

TEST_CASE("recurrent layers learn from every operand") {
  const auto y = [](std::string_view kind, std::string_view operands, std::string_view types,
                    std::string_view attributes = "") {
    std::string text;
    for (std::size_t begin = 0; begin < types.size();) {
      const std::size_t end = std::min(types.find(';', begin), types.size());
      text += std::string(1, '%') +
              static_cast<char>('a' + std::count(types.begin(),
                                                 types.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 ';')) +
              ": tensor<" + std::string(types.substr(begin, end - begin)) + "> = input()\n";
      begin = end + 1;
    }
    return infer(text + "%y: tensor<*xundefined>, %z: tensor<*xundefined> = " + std::string(kind) +
                 "(" + std::string(operands) + ") " + std::string(attributes));
  };
  const std::string known = "7x2x5xf32;1x12x5xf32;1x12x3xf32";
  CHECK(y("lstm", "%a, %b, %c", known) == "tensor<7x1x2x3xf32>; tensor<1x2x3xf32>");
  CHECK(y("gru", "%a, %b, %c", "7x2x5xf32;1x12x5xf32;1x12x4xf32", "{layout = 1}") ==
        "tensor<7x2x1x4xf32>; tensor<7x1x4xf32>");
  CHECK(y("rnn", "%a, %b, %c", "*xf32;2x3x5xf32;*xf32", "{direction = \"bidirectional\"}") ==
        "tensor<?x2x?x3xf32>; tensor<2x?x3xf32>");
  CHECK(y("lstm", "%a, %b, %c, _, %d", "?x?x5xf32;*xf32;*xf32;2xi32", "{hidden_size = 3}") ==
        "tensor<?x1x2x3xf32>; tensor<1x2x3xf32>");
  CHECK(y("lstm", "%a, %b, %c, _, _, %d, _, %e", "*xf32;*xf32;*xf32;1x2x?xf32;1x9xf32") ==
        "tensor<?x1x2x3xf32>; tensor<1x2x3xf32>");
  for (const char* attributes : {"{hidden_size = 4}", "{direction = \"bidirectional\"}",
                                 "{direction = \"up\"}", "{layout = 2}", "{direction = 1}"}) {
    CAPTURE(attributes);
    CHECK(y("lstm", "%a, %b, %c", known, attributes).starts_with("error"));
  }
  CHECK(y("gru", "%a, %b, %c", known).starts_with("error"));  // 12 gates are of 4 units, not 3
  CHECK(y("lstm", "%a, %b, %c", "7x2x5xf32;1x13x5xf32;1x?x?xf32").starts_with("error"));
  CHECK(y("lstm", "%a, %b, %c", "7x2x4xf32;1x12x5xf32;1x12x3xf32").starts_with("error"));
  CHECK(y("lstm", "%a, %b, %c", "7x2x5x1xf32;1x12x5xf32;1x12x3xf32").starts_with("error"));
  CHECK(y("lstm", "%a, %b, %c", "7x2x5xf32;1x12x5xf16;1x12x3xf32").starts_with("error"));
  CHECK(y("lstm", "%a, %b, _", known).starts_with("error"));
  CHECK(y("gru", "%a, %b, %c, _, _, _, %a", known).starts_with("error"));

  Graph graph;  // a layer nobody reads, and one with too many results
  const Value x = graph.add_input("x", build::f32({7, 2, 5}));
  const Value w = graph.add_input("w", build::f32({1, 12, 5}));
  const Value r = graph.add_input("r", build::f32({1, 12, 3}));
  graph.add({.kind = "lstm", .operands = {x, w, r}});
  CHECK(infer_shapes(graph));
  graph.add({.kind = "lstm", .operands = {x, w, r}, .results = {{}, {}, {}, {}}});
  CHECK(!infer_shapes(graph));
}

TEST_CASE("linear, addmm, batch_matmul and baddbmm") {
  const auto y = [](std::string_view kind, std::vector<std::string> shapes) {
    std::string text;
    std::string operands;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = "%x" + std::to_string(i);
      text += name + ": tensor<" + shapes[i] + "> = input()\n";
      operands += (i > 0 ? ", " : "") + name;
    }
    return infer(text + "%y: tensor<*xundefined> = " + std::string(kind) + "(" + operands + ")");
  };
  CHECK(y("linear", {"2x3x5xf32", "7x5xf32"}) == "tensor<2x3x7xf32>");
  CHECK(y("linear", {"5xf32", "7x5xf32", "7xf32"}) == "tensor<7xf32>");
  CHECK(y("linear", {"?x5xf32", "*xf32", "7xf32"}) == "tensor<?x7xf32>");
  CHECK(y("linear", {"*xf32", "7x5xf32"}) == "tensor<*xf32>");
  CHECK(y("addmm", {"7xf32", "2x5xf32", "5x7xf32"}) == "tensor<2x7xf32>");
  CHECK(y("addmm", {"2x1xf32", "2x?xf32", "*xf32"}) == "tensor<2x?xf32>");
  CHECK(y("batch_matmul", {"4x2x5xf32", "4x5x7xf32"}) == "tensor<4x2x7xf32>");
  CHECK(y("batch_matmul", {"?x2x5xf32", "4x5x7xf32"}) == "tensor<4x2x7xf32>");
  CHECK(y("baddbmm", {"2x7xf32", "4x2x5xf32", "4x5x7xf32"}) == "tensor<4x2x7xf32>");
  using Bad = std::pair<std::string_view, std::vector<std::string>>;
  for (const auto& [kind, shapes] :
       {Bad{"linear", {"2x3xf32", "7x5xf32"}}, Bad{"linear", {"2x5xf32", "7x5x1xf32"}},
        Bad{"linear", {"2x5xf32", "7x5xf32", "5xf32"}}, Bad{"linear", {"f32", "7x5xf32"}},
        Bad{"linear", {"2x5xf32"}}, Bad{"linear", {"2x5xf32", "7x5xf16"}},
        Bad{"addmm", {"2x5xf32", "5x7xf32"}}, Bad{"addmm", {"7xf32", "2x5xf32", "6x7xf32"}},
        Bad{"addmm", {"6xf32", "2x5xf32", "5x7xf32"}},
        Bad{"addmm", {"1x2x7xf32", "2x5xf32", "5x7xf32"}},
        Bad{"addmm", {"7xf32", "1x2x5xf32", "5x7xf32"}},
        Bad{"batch_matmul", {"1x2x5xf32", "4x5x7xf32"}},
        Bad{"batch_matmul", {"2x5xf32", "5x7xf32"}},
        Bad{"batch_matmul", {"4x2x5xf32", "4x6x7xf32"}},
        Bad{"baddbmm", {"3xf32", "4x2x5xf32", "4x5x7xf32"}}}) {
    CAPTURE(kind);
    CAPTURE(shapes.front());
    CHECK(y(kind, shapes).starts_with("error"));
  }
}

TEST_CASE("codes that share one scale stay codes wherever they are moved to") {
  const std::string x =
      "%x: tensor<2x1x!quant.uniform<i8:f32, 0.5>> = input()\n"
      "%i: tensor<3xi64> = constant() [1, 1, 1]\n";
  for (const char* node : {"squeeze(%x)", "unsqueeze(%x) {axes = [0]}", "flatten(%x)",
                           "expand(%x, %i)", "slice(%x) {starts = [0], ends = [1]}", "split(%x)",
                           "concat(%x, %x) {axis = 1}", "gather(%x, %i)"}) {
    CAPTURE(node);
    const std::string type = infer(x + "%y: tensor<*xundefined> = " + node);
    CHECK(type.ends_with("!quant.uniform<i8:f32, 0.5>>"));
    CHECK(fails(x + "%y: tensor<*xf32> = " + node));
  }
  CHECK(infer(x + "%y: tensor<*xundefined> = cast(%x) {to = 10}") == "tensor<2x1xundefined>");
  // Codes of another meaning, or none, in one list: who joins them states what comes out.
  CHECK(infer(x + "%z: tensor<2x1x!quant.uniform<i8:f32, 0.25>> = input()\n"
                  "%y: tensor<*xundefined> = concat(%x, %z) {axis = 1}") ==
        "tensor<2x2xundefined>");
  CHECK(infer(x + "%z: tensor<2x1xf32> = input()\n"
                  "%y: tensor<*xundefined> = concat(%x, %z) {axis = 1}") ==
        "tensor<2x2xundefined>");
}

TEST_CASE("codes with several scales become what is stated") {
  const std::string x =
      "%x: tensor<1x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = input()\n"
      "%i: tensor<2xi64> = constant() [1, 1]\n";
  for (const char* node : {"squeeze(%x)", "unsqueeze(%x) {axes = [0]}", "flatten(%x)",
                           "expand(%x, %i)", "slice(%x) {starts = [0], ends = [1]}", "split(%x)",
                           "concat(%x, %x) {axis = 0}", "gather(%x, %i)"}) {
    CAPTURE(node);
    CHECK(infer(x + "%y: tensor<*xundefined> = " + node).ends_with("undefined>"));
  }
  const std::string moved = "tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>";
  const std::string text = x + "%y: " + moved + " = squeeze(%x)";
  CHECK(infer(text) == moved);
  auto graph = parse_graph(text);
  REQUIRE(graph);
  CHECK(verify(*graph));
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

TEST_CASE("a scalar has no axis for softmax") {
  for (const std::string kind : {"Softmax", "LogSoftmax", "Hardmax"}) {
    CAPTURE(kind);
    CHECK(fails("%x: tensor<f32> = input()\n%y: tensor<*xundefined> = onnx." + kind + "(%x)\n"));
  }
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

TEST_CASE("negative dimensions that are computed") {
  for (const std::int64_t extent :
       {std::int64_t{-1}, std::int64_t{-3}, std::numeric_limits<std::int64_t>::min()}) {
    for (const Shape& stated : {Shape(), Shape{Extent::open()}, Shape{5}}) {
      Graph graph;
      const Value list = graph.add_constant("list", build::integers({extent}));
      build::add(graph, "onnx.ConstantOfShape", {list}, build::f32(stated), {}, "y");
      const auto inferred = infer_shapes(graph);
      REQUIRE(!inferred);
      CHECK(inferred.error().message.find("a dimension of extent -") != std::string::npos);
    }
  }
}

TEST_CASE("tensors of thousands of dimensions are not followed") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32(Shape(std::vector<std::int64_t>(5000, 1))));
  const Value y = build::add(graph, "transpose", {x}, {}, {}, "y");
  REQUIRE(infer_shapes(graph));
  CHECK(!graph.type(y).shape.is_ranked());
}

TEST_CASE(
    "results of more than 64 dimensions, and lists of more than 64 integers, are not followed") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32(Shape(std::vector<std::int64_t>(40, 2))));
  const Value i = graph.add_input(
      "i", build::tensor(ElementType::int64, Shape(std::vector<std::int64_t>(40, 2))));
  const Value gathered = build::add(graph, "gather", {x, i});
  const std::vector<std::int64_t> axes(40, 0);
  const Value added = build::add(graph, "unsqueeze", {x}, {}, {{"axes", axes}});
  const std::vector<std::int64_t> zeros(65, 0);
  const Value sliced = build::add(graph, "slice", {x}, {}, {{"starts", zeros}, {"ends", zeros}});
  REQUIRE(infer_shapes(graph));
  CHECK(!graph.type(gathered).shape.is_ranked());
  CHECK(!graph.type(added).shape.is_ranked());
  CHECK(graph.type(sliced) == build::f32(Shape(std::vector(40, Extent::open()))));
}

TEST_CASE("a long chain") {
  Graph graph;
  Value value = graph.add_input("x", build::f32({2, 3}));
  for (int i = 0; i < test::shortened(100000); ++i) value = build::add(graph, "transpose", {value});
  REQUIRE(infer_shapes(graph));
  CHECK(graph.type(value) == build::f32({2, 3}));
}

TEST_CASE("a split into 100,000 parts, and their concat") {
  constexpr std::size_t count = 100000;
  Graph graph;
  const Value x = graph.add_input("x", build::f32({3, 2 * static_cast<std::int64_t>(count)}));
  NodeSpec spec{.kind = "split", .operands = {x}};
  spec.results.resize(count);
  spec.attributes.set("axis", std::int64_t{1});
  const NodeId split = graph.add(std::move(spec));
  std::vector<Value> parts;
  for (std::uint32_t i = 0; i < count; ++i) parts.push_back({split, i});
  const Value y = build::add(graph, "concat", parts, {}, {{"axis", std::int64_t{-1}}});
  REQUIRE(infer_shapes(graph));
  CHECK(graph.type(parts.back()) == build::f32({3, 2}));
  CHECK(graph.type(y) == graph.type(x));
  const auto offsets = ops::Split{graph.ref(split)}.offsets();
  REQUIRE(offsets);
  CHECK(offsets->back() == 2 * static_cast<std::int64_t>(count) - 2);
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
