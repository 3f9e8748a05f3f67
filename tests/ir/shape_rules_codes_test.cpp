#include <doctest/doctest.h>

#include "build.hpp"
#include "ir/shape_inference.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

// The types of %y and the results behind it.
std::string types(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  const auto done = infer_shapes(*graph);
  REQUIRE_MESSAGE(done, (done ? "" : to_string(done.error())), text);
  const NodeRef node = graph->ref(graph->find_value("y").node);
  std::string all;
  for (std::uint32_t result = 0; result < graph->result_count(node.id); ++result) {
    all += (result == 0 ? "" : "; ") + to_string(node.type(result));
  }
  return all;
}

// Codes, a weight, a scale and zero points.
std::string with_operands(std::string_view rest) {
  return "%x: tensor<2x3x8x9xu8> = input()\n"
         "%w: tensor<4x3x3x3xi8> = input()\n"
         "%m: tensor<9x5xi8> = input()\n"
         "%s: tensor<f32> = input()\n"
         "%z: tensor<i8> = input()\n"
         "%u: tensor<u8> = input()\n" +
         std::string(rest);
}

}  // namespace

TEST_CASE("operators on codes have the shapes of those on real numbers") {
  CHECK(types(with_operands(
            "%y: tensor<*xundefined> = onnx.QLinearConv(%x, %s, %u, %w, %s, %z, %s, %u) "
            "{pads = [1, 1, 1, 1], strides = [2, 1]}")) == "tensor<2x4x4x9xu8>");
  CHECK(types(with_operands("%y: tensor<*xundefined> = onnx.ConvInteger(%x, %w, %u)")) ==
        "tensor<2x4x6x7xi32>");
  CHECK(types(with_operands(
            "%y: tensor<*xundefined> = onnx.QLinearMatMul(%x, %s, %u, %m, %s, %z, %s, %z)")) ==
        "tensor<2x3x8x5xi8>");
  CHECK(types(with_operands("%y: tensor<*xundefined> = onnx.MatMulInteger(%x, %m)")) ==
        "tensor<2x3x8x5xi32>");
  CHECK(types(with_operands("%y: tensor<*xundefined> = onnx.com.microsoft::QLinearAdd(%x, %s, %u, "
                            "%u, %s, %u, %s, %u)")) == "tensor<2x3x8x9xu8>");
  CHECK(types(with_operands("%y: tensor<*xundefined> = onnx.com.microsoft::QLinearConcat(%s, %u, "
                            "%x, %s, %u, %x, %s, %u) "
                            "{axis = 1}")) == "tensor<2x6x8x9xu8>");
  CHECK(types(with_operands("%y: tensor<*xundefined> = "
                            "onnx.com.microsoft::QLinearGlobalAveragePool(%x, %s, %u, %s, %u) "
                            "{channels_last = 1}")) == "tensor<2x1x1x9xu8>");
  CHECK(types(with_operands("%y: tensor<*xundefined> = onnx.DequantizeLinear(%x, %s, %u)")) ==
        "tensor<2x3x8x9xf32>");
}

TEST_CASE("codes that are joined to more than 63 bits count") {
  auto graph = parse_graph(
      "%x: tensor<4611686018427387904xu8> = input()\n%s: tensor<f32> = input()\n"
      "%u: tensor<u8> = input()\n"
      "%y: tensor<*xundefined> = onnx.com.microsoft::QLinearConcat(%s, %u, %x, %s, %u, %x, %s, %u) "
      "{axis = 0}");
  REQUIRE(graph);
  const auto done = infer_shapes(*graph);
  REQUIRE(!done);
  CHECK(done.error().message.find("63 bits") != std::string::npos);
}

TEST_CASE("what quantizes by its own data gives scale and zero point, too") {
  CHECK(types("%x: tensor<?x3xf32> = input()\n"
              "%y: tensor<*xundefined>, %a: tensor<*xundefined>, %b: tensor<*xundefined> = "
              "onnx.DynamicQuantizeLinear(%x)") == "tensor<?x3xu8>; tensor<f32>; tensor<u8>");
}
