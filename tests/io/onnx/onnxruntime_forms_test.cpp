// Which form is chosen. That ONNX Runtime computes it as it is meant is shown in tests/peers.
#include "io/onnx/onnxruntime_forms.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model_helpers.hpp"
#include "quadrant/ir/text.hpp"

using namespace onnx_test;

namespace {

Graph parsed_network(const std::string& text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  return *std::move(graph);
}

/// A product whose data and weight have these types, which are of a matrix of 2 by 2.
std::string typed_product(const std::string& data, const std::string& weight) {
  return "%x: tensor<2x2xf32> = input()\n"
         "%q: tensor<2x2x!quant.uniform<" +
         data +
         ">> = quantize(%x)\n"
         "%d: tensor<2x2xf32> = dequantize(%q)\n"
         "%w: tensor<2x2x!quant.uniform<" +
         weight +
         ">> = constant() [1, 2, 3, 4]\n"
         "%v: tensor<2x2xf32> = dequantize(%w)\n"
         "%y: tensor<2x2xf32> = matmul(%d, %v)\n"
         "output(%y)\n";
}

Written written_at_opset(const Folder& folder, const std::string& text, std::int64_t opset) {
  Graph graph = parsed_network(text);
  graph.attributes().set("onnx.opset_domains", std::vector<std::string>{""});
  graph.attributes().set("onnx.opset_versions", std::vector<std::int64_t>{opset});
  return write_and_read(folder, std::move(graph));
}

const std::string scale_by_column = "i8<-127:127>:f32:1, {0.5, 0.25}";

}  // namespace

TEST_CASE("signed activations are written unsigned from opset 21 on, and only there") {
  const Folder folder;
  const std::string text = typed_product("i8:f32, 0.5:-3", scale_by_column);
  for (const auto& [opset, count] : {std::pair(17, 0), {21, 1}, {23, 1}}) {
    CAPTURE(opset);
    const Written written = written_at_opset(folder, text, opset);
    CHECK(written.report.unsigned_activations == count);
    const Constant zero = written.constant("x_zero_point");
    CHECK(zero.element() == (count == 1 ? ElementType::uint8 : ElementType::int8));
    CHECK(read_integers(zero).value() ==
          std::vector<std::int64_t>{count == 1 ? std::int64_t{125} : std::int64_t{-3}});
    CHECK(written.constant("w").element() == ElementType::int8);
  }
}

TEST_CASE("activations without zero points keep their sign: accelerators have none") {
  const Folder folder;
  const Written written =
      written_at_opset(folder, typed_product("i8<-127:127>:f32, 0.5", scale_by_column), 21);
  CHECK(written.report.unsigned_activations == 0);
  CHECK(written.constant("x_zero_point").element() == ElementType::int8);
}

TEST_CASE("a weight that 16 bits are multiplied by has its axis counted from the back") {
  const Folder folder;
  const auto axis = [&](const std::string& data, const std::string& weight) {
    const Written written = written_at_opset(folder, typed_product(data, weight), 21);
    return written.graph.ref(written.graph.find_value("v").node)
        .attribute_or<std::int64_t>("axis", 99);
  };
  CHECK(axis("i16:f32, 0.5", scale_by_column) == -1);
  CHECK(axis("i8:f32, 0.5", scale_by_column) == 1);
  CHECK(axis("i16:f32, 0.5", "i16:f32:1, {0.5, 0.25}") == 1);
}

TEST_CASE("or its scale is a list of one number") {
  const Folder folder;
  for (const auto& [data, shape] :
       {std::pair("i16:f32, 0.5", Shape{1}), {"i8:f32, 0.5", Shape(std::vector<std::int64_t>{})}}) {
    CAPTURE(data);
    const Written written = written_at_opset(folder, typed_product(data, "i8:f32, 0.5:7"), 21);
    CHECK(written.constant("v_scale").shape() == shape);
    CHECK(written.constant("v_zero_point").shape() == shape);
  }
}
