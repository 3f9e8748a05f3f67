// Which form is chosen. That ONNX Runtime computes it as it is meant is shown in tests/peers.
#include "io/onnx/onnxruntime_forms.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

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
  return write_and_read(folder, graph);
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
    const Constant& zero = written.constant("x_zero_point");
    CHECK(zero.element() == (count == 1 ? ElementType::uint8 : ElementType::int8));
    CHECK(read_integers(zero).value() ==
          std::vector<std::int64_t>{count == 1 ? std::int64_t{125} : std::int64_t{-3}});
    CHECK(written.constant("w").element() == ElementType::int8);
  }
}

TEST_CASE(
    "activations of as many codes on both sides of zero keep their sign, as for accelerators") {
  const Folder folder;
  const auto rounded = [&](const std::string& type) {
    const Written written = written_at_opset(folder, typed_product(type, scale_by_column), 21);
    return std::pair(written.report.unsigned_activations,
                     written.constant("x_zero_point").element());
  };
  CHECK(rounded("i8<-127:127>:f32, 0.5") == std::pair(std::int64_t{0}, ElementType::int8));
  CHECK(rounded("i8:f32, 0.5") == std::pair(std::int64_t{1}, ElementType::uint8));
}

TEST_CASE("of activations without sign, one that has the middle as its zero is one more") {
  const Folder folder;
  const Written written =
      written_at_opset(folder,
                       "%x: tensor<2xf32> = input()\n"
                       "%q: tensor<2x!quant.uniform<u8:f32, 0.5:3>> = quantize(%x)\n"
                       "%d: tensor<2xf32> = dequantize(%q)\n"
                       "%r: tensor<2x!quant.uniform<i8<-127:127>:f32, 0.5>> = quantize(%x)\n"
                       "%e: tensor<2xf32> = dequantize(%r)\n"
                       "%y: tensor<2xf32> = add(%d, %e)\n"
                       "output(%y)\n",
                       21);
  CHECK(written.report.unsigned_activations == 1);
}

TEST_CASE("a table of one scale whose rows are looked up has no sign; a weight keeps it") {
  const Folder folder;
  const auto looked_up = [&](const std::string& type, const std::string& how) {
    const Written written = written_at_opset(
        folder,
        "%i: tensor<3xi64> = input()\n"
        "%t: tensor<4x2x!quant.uniform<" +
            type + ">> = constant() [1, -2, 3, 4, -5, 6, 7, 8]\n" + how + "output(%y)\n",
        21);
    return std::pair(written.report.unsigned_activations, written.constant("t").element());
  };
  const auto gathered = [](const std::string& type) {
    return "%r: tensor<3x2x!quant.uniform<" + type +
           ">> = gather(%t, %i) {axis = 0}\n"
           "%y: tensor<3x2xf32> = dequantize(%r)\n";
  };
  for (const std::string type : {"i8:f32, 0.5:-3", "i8<-127:127>:f32, 0.5"}) {
    CAPTURE(type);
    CHECK(looked_up(type, gathered(type)) == std::pair(std::int64_t{2}, ElementType::uint8));
    const std::string as_it_is = "%y: tensor<4x2xf32> = dequantize(%t)\n";
    CHECK(looked_up(type, as_it_is) == std::pair(std::int64_t{0}, ElementType::int8));
  }
  const std::string by_column = "i8<-127:127>:f32:1, {0.5, 0.25}";
  CHECK(looked_up(by_column, gathered(by_column)) == std::pair(std::int64_t{0}, ElementType::int8));
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

TEST_CASE(
    "products whose data ONNX Runtime rounds: by constant matrices of codes, not by 16 bits") {
  const Folder folder;
  const auto rounded = [&](const std::string& weight, const std::string& product,
                           const std::string& between = {}) {
    const std::string text =
        "%x: tensor<2x64xf32> = input()\n"
        "%w: tensor<64x2x!quant.uniform<" +
        weight + ">> = constant() [" +
        fmt::format("{}", fmt::join(std::vector<int>(128, 1), ", ")) +
        "]\n%v: tensor<64x2xf32> = dequantize(%w)\n" + between +
        "%y: tensor<2x2xf32> = " + product + "\noutput(%y)\n";
    return written_at_opset(folder, text, 21).report.rounded_products;
  };
  const std::string column = "i8:f32:1, {0.5, 0.25}";
  CHECK(rounded(column, "matmul(%x, %v)") == 1);
  CHECK(rounded("i8:f32, 0.5", "matmul(%x, %v)") == 1);
  CHECK(rounded("u4:f32, 0.5:8", "matmul(%x, %v)") == 1);
  CHECK(rounded(column, "gemm(%x, %v)") == 1);
  CHECK(rounded(column, "gemm(%x, %v) {alpha = 0.5}") == 0);
  const std::string turned = "%t: tensor<64x2xf32> = transpose(%x) {perm = [1, 0]}\n";
  CHECK(rounded(column, "gemm(%t, %v) {transA = 1}", turned) == 0);
  CHECK(rounded(column, "matmul(%x, %v)", "output(%v)\n") == 0);  // somebody else reads it
  CHECK(rounded("i16:f32, 0.5", "matmul(%x, %v)") == 0);
  const std::string codes =
      "%q: tensor<2x64x!quant.uniform<i16:f32, 0.5>> = quantize(%x)\n"
      "%d: tensor<2x64xf32> = dequantize(%q)\n";
  CHECK(rounded(column, "matmul(%d, %v)", codes) == 0);
}

TEST_CASE("and in blocks of a power of two, of 16 and more rows") {
  const Folder folder;
  for (const auto& [block, count] : {std::pair(8, 0), {16, 1}, {20, 0}, {32, 1}}) {
    CAPTURE(block);
    const int blocks = (64 + block - 1) / block;
    Graph graph =
        parsed_network("%x: tensor<2x64xf32> = input()\n%w: tensor<64x2xi8> = constant() [" +
                       fmt::format("{}", fmt::join(std::vector<int>(128, 1), ", ")) +
                       "]\n%v: tensor<64x2xf32> = dequantize(%w)\n"
                       "%y: tensor<2x2xf32> = matmul(%x, %v)\noutput(%y)\n");
    UniformType type;
    type.granularity = Granularity::per_block(0, block);
    const std::vector<float> scales(static_cast<std::size_t>(2 * blocks), 0.5F);
    type.scales = Constant::from_values(ElementType::float32, Shape{blocks, 2},
                                        std::span<const float>(scales));
    const NodeId weight = graph.find_value("w").node;
    graph.set_constant(weight, *graph.constant(weight), std::make_shared<UniformType>(type));
    graph.attributes().set("onnx.opset_domains", std::vector<std::string>{""});
    graph.attributes().set("onnx.opset_versions", std::vector<std::int64_t>{21});
    CHECK(write_and_read(folder, graph).report.rounded_products == count);
  }
}

TEST_CASE("codes of a file stay as they are, beside a Clip as well") {
  const Folder folder;
  for (const std::string_view codes : {"i8:f32, 0.5:-3", "i8<-127:127>:f32, 0.5:-3"}) {
    CAPTURE(codes);
    const Written first =
        written_at_opset(folder, typed_product(std::string(codes), "i8:f32, 0.5"), 17);
    CHECK(first.report.unsigned_activations == 0);
    Graph read = read_onnx(folder / "out.onnx").value();
    read.attributes().set("onnx.opset_versions", std::vector<std::int64_t>{21});
    const Written again = write_and_read(folder, read);
    CHECK(again.report.opset_written == 21);
    CHECK(again.report.unsigned_activations == 0);
  }
}

TEST_CASE("a vector in one block has one scale, which is said as that of a tensor") {
  const Folder folder;
  UniformType type;
  type.granularity = Granularity::per_block(0, 4);
  const std::vector<float> scales{0.5F};
  type.scales =
      Constant::from_values(ElementType::float32, Shape{1}, std::span<const float>(scales));
  Graph graph = parsed_network(
      "%w: tensor<4xi8> = constant() [1, 2, 3, 4]\n%v: tensor<4xf32> = dequantize(%w)\n"
      "output(%v)\n");
  const NodeId weight = graph.find_value("w").node;
  graph.set_constant(weight, *graph.constant(weight), std::make_shared<UniformType>(type));
  graph.attributes().set("onnx.opset_domains", std::vector<std::string>{""});
  graph.attributes().set("onnx.opset_versions", std::vector<std::int64_t>{21});
  const Written written = write_and_read(folder, graph);
  const NodeId node = written.graph.find_value("v").node;
  CHECK(written.graph.attribute(node, "block_size") == nullptr);
  CHECK(written.graph.attribute(node, "axis") == nullptr);
}
