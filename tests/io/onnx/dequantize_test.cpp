// How quantized types are written.
#include "model_helpers.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace onnx_test;

namespace {

Constant floats_of(Shape shape, const std::vector<float>& values) {
  return Constant::from_values(ElementType::float32, std::move(shape),
                               std::span<const float>(values));
}

UniformType per_axis_type() {
  UniformType type;
  type.granularity = Granularity::per_axis(0);
  type.storage_min = -127;
  type.scales = floats_of(Shape{3}, {0.5F, 1, 2});
  return type;
}

/// The weight of a matmul as codes and a dequantize, as the weight-only scheme leaves it.
Graph quantized_graph(const Folder& folder, const UniformType& type, std::int64_t opset,
                      const GraphParts& parts = matmul_parts()) {
  Graph graph = read_bytes(folder, model(parts, opset));
  const auto shared = std::make_shared<const UniformType>(type);
  const Value w = graph.find_value("w");
  TensorType real = graph.type(w);
  real.element = type.expressed;
  graph.set_value_name(w, "w_codes");
  const std::vector<Use> uses(graph.uses(w.node).begin(), graph.uses(w.node).end());
  const std::vector<std::int16_t> codes{1, 2, 3, 4, 5, 6};
  const std::vector<std::int8_t> narrow(codes.begin(), codes.end());
  const Constant constant =
      byte_width(type.storage) == 2
          ? Constant::from_values(type.storage, Shape{3, 2}, std::span<const std::int16_t>(codes))
          : Constant::from_values(type.storage, Shape{3, 2}, std::span<const std::int8_t>(narrow));
  graph.set_constant(w.node, constant, shared);
  const NodeId node = graph.add(
      {.kind = "dequantize", .name = "dequantize_w", .operands = {w}, .results = {{"w", real}}});
  for (const Use& use : uses) graph.set_operand(use.user, use.operand, {node});
  return graph;
}

}  // namespace

TEST_CASE("per axis, opset 13 and later: DequantizeLinear with an axis") {
  const Folder folder;
  const Written written = write_and_read(folder, quantized_graph(folder, per_axis_type(), 17));
  CHECK(written.report.fallback_reason.empty());
  CHECK(written.kind("w") == "onnx.DequantizeLinear");
  const NodeRef node = written.graph.ref(written.graph.find_value("w").node);
  CHECK(node.name() == "dequantize_w");
  CHECK(node.attribute_or<std::int64_t>("axis", -1) == 0);
  CHECK(written.operand("w", 0) == written.graph.find_value("w_codes"));
  CHECK(written.operand("w", 1) == written.graph.find_value("w_scale"));
  CHECK(written.operand("w", 2) == written.graph.find_value("w_zero_point"));
  CHECK(values_of<float>(written.constant("w_scale")) == std::vector<float>{0.5F, 1, 2});
  CHECK(written.constant("w_zero_point").element() == ElementType::int8);
  CHECK(values_of<std::int8_t>(written.constant("w_zero_point")) ==
        std::vector<std::int8_t>{0, 0, 0});
}

TEST_CASE("parameters are shared, and their names are free ones") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.initializers.push_back(floats("w_scale", {1}, {9}));
  Graph graph = quantized_graph(folder, per_axis_type(), 17, parts);
  const NodeId again = graph.add({.kind = "dequantize",
                                  .name = "dequantize_w",
                                  .operands = {graph.find_value("w_codes")},
                                  .results = {{"v", graph.type(graph.find_value("w"))}}});
  graph.add_output("v", {again});
  const Written written = write_and_read(folder, graph);
  CHECK(values_of<float>(written.constant("w_scale")) == std::vector<float>{9});
  CHECK(written.operand("w", 1) != written.graph.find_value("w_scale"));
  CHECK(written.operand("w", 1) == written.operand("v", 1));
  CHECK(written.operand("w", 2) == written.operand("v", 2));
  // ONNX Runtime refuses two nodes of one name.
  CHECK(written.graph.ref(written.graph.find_value("v").node).name() !=
        written.graph.ref(written.graph.find_value("w").node).name());
}

TEST_CASE("float16: scales stay float32, and a Cast follows") {
  const Folder folder;
  UniformType type = per_axis_type();
  type.expressed = ElementType::float16;
  GraphParts parts = matmul_parts();
  parts.inputs = {value_info("x", {2, 3}, 10)};
  parts.outputs = {value_info("y", {2, 2}, 10)};
  parts.initializers = {tensor("w", 10, {3, 2}).text(9, std::string(12, '\0'))};
  const Written written = write_and_read(folder, quantized_graph(folder, type, 17, parts));
  CHECK(written.kind("w") == "cast");
  const NodeId linear = written.operand("w", 0).node;
  CHECK(written.graph.kind(linear) == "onnx.DequantizeLinear");
  CHECK(written.constant("w_scale").element() == ElementType::float32);
}

TEST_CASE("older opsets are converted where they can be") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Clip", {"y"}, {"z"}, "clip")
                            .message(5, Fields().text(1, "min").real(2, 0).integer(20, 1)));
  const Written written =
      write_and_read(folder, quantized_graph(folder, per_axis_type(), 9, parts));
  CHECK(written.report.opset_read == 9);
  CHECK(written.report.opset_written == 13);
  CHECK(written.report.fallback_reason.empty());
  CHECK(written.kind("w") == "onnx.DequantizeLinear");
  CHECK(values_of<float>(written.constant("z_min")) == std::vector<float>{0});
  CHECK(written.graph.attributes().get_or<std::int64_t>("onnx.ir_version", 0) == 8);
}

TEST_CASE("and written as Cast and Mul where they cannot") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Mystery", {"y"}, {"z"}, "unknown_one"));
  UniformType type = per_axis_type();
  SUBCASE("without zero points") {}
  SUBCASE("with zero points") {
    const std::vector<std::int8_t> zeros{1, 0, -1};
    type.zero_points =
        Constant::from_values(ElementType::int8, Shape{3}, std::span<const std::int8_t>(zeros));
  }
  const Written written = write_and_read(folder, quantized_graph(folder, type, 9, parts));
  CHECK(written.report.opset_written == 9);
  CHECK(contains(written.report.fallback_reason, "Mystery"));
  CHECK(contains(written.report.fallback_reason, "unknown_one"));
  CHECK(written.kind("w") == "multiply");
  CHECK(written.constant("w_scale").shape() == Shape{3, 1});
  NodeId before = written.operand("w", 0).node;
  if (type.zero_points) {
    CHECK(written.graph.kind(before) == "onnx.Sub");
    CHECK(values_of<float>(written.constant("w_zero_point")) == std::vector<float>{1, 0, -1});
    before = written.graph.operands(before)[0].node;
  }
  CHECK(written.graph.kind(before) == "cast");
}

TEST_CASE("per tensor, opset 10 is enough") {
  const Folder folder;
  UniformType type;
  type.scales = floats_of(Shape(std::vector<std::int64_t>{}), {0.5F});
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Mystery", {"y"}, {"z"}));
  const Written written = write_and_read(folder, quantized_graph(folder, type, 10, parts));
  CHECK(written.report.opset_written == 10);
  CHECK(written.report.fallback_reason.empty());
  CHECK(written.kind("w") == "onnx.DequantizeLinear");
  CHECK(written.graph.attribute(written.graph.find_value("w").node, "axis") == nullptr);
}

TEST_CASE("what needs opset 21") {
  const Folder folder;
  UniformType type = per_axis_type();
  SUBCASE("16 bits") { type.storage = ElementType::int16; }
  SUBCASE("4 bits") {
    type.storage = ElementType::int4;
    type.storage_min = -7;
    type.storage_max = 7;
  }
  SUBCASE("blocks") {
    type.granularity = Granularity::per_block(0, 2);  // the last one is short
    type.scales = floats_of(Shape{2, 2}, {0.5F, -1, 2, 4});
  }
  const Written written = write_and_read(folder, quantized_graph(folder, type, 17));
  CHECK(written.report.opset_written == 21);
  CHECK(written.report.dequantize_linear == 1);
  CHECK(written.report.fallback_reason.empty());
  CHECK(written.graph.attributes().get_or<std::int64_t>("onnx.ir_version", 0) == 10);
  CHECK(written.kind("w") == "onnx.DequantizeLinear");
  const NodeRef node = written.graph.ref(written.graph.find_value("w").node);
  const bool blocks = type.granularity.kind == Granularity::Kind::block;
  CHECK(node.attribute_or<std::int64_t>("axis", -1) == 0);
  CHECK(node.attribute_or<std::int64_t>("block_size", -1) == (blocks ? 2 : -1));
  CHECK(node.operands().size() == (blocks ? 2 : 3));
}

namespace {

/// A graph that keeps its opset.
Written written_at_17(const Folder& folder, const UniformType& type) {
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Mystery", {"y"}, {"z"}));
  Written written = write_and_read(folder, quantized_graph(folder, type, 17, parts));
  CHECK(written.report.opset_written == 17);
  CHECK(contains(written.report.fallback_reason, "Mystery has no conversion to opset 21"));
  return written;
}

}  // namespace

TEST_CASE("and cannot have it: 16 bits") {
  const Folder folder;
  UniformType type = per_axis_type();
  type.storage = ElementType::int16;
  const Written written = written_at_17(folder, type);
  CHECK(written.kind("w") == "multiply");
  CHECK(written.report.dequantize_arithmetic == 1);
  CHECK(contains(written.report.fallback_reason,
                 "of 1 dequantizations, 1 written as Cast and Mul: "));
}

TEST_CASE("and cannot have it: 4 bits") {
  const Folder folder;
  UniformType type = per_axis_type();
  type.storage = ElementType::int4;
  type.storage_min = -7;
  type.storage_max = 7;
  const std::vector<std::int8_t> zeros{-7, 0, 7};
  type.zero_points =
      Constant::from_values(ElementType::int4, Shape{3}, std::span<const std::int8_t>(zeros));
  const Written written = written_at_17(folder, type);
  CHECK(written.kind("w") == "onnx.com.microsoft::DequantizeLinear");
  CHECK(
      written.graph.ref(written.graph.find_value("w").node).attribute_or<std::int64_t>("axis", 9) ==
      0);
  CHECK(values_of<std::int8_t>(written.constant("w_zero_point")) == zeros);
  CHECK(written.report.dequantize_microsoft == 1);
  CHECK(contains(written.report.fallback_reason, "1 written as com.microsoft.DequantizeLinear"));
  const Attributes& attributes = written.graph.attributes();
  CHECK(attributes.get_or<std::int64_t>("onnx.ir_version", 0) == 10);
  CHECK(attributes.get_or<std::vector<std::string>>("onnx.opset_domains", {}) ==
        std::vector<std::string>{"", "com.microsoft"});
}

TEST_CASE("and cannot have it: blocks") {
  const Folder folder;
  UniformType type = per_axis_type();
  type.granularity = Granularity::per_block(0, 2);
  type.scales = floats_of(Shape{2, 2}, {0.5F, 1, 2, 4});
  SUBCASE("of 8 bits") {}
  SUBCASE("of 4 bits") {
    type.storage = ElementType::int4;
    type.storage_min = -8;
    type.storage_max = 7;
  }
  const Written written = written_at_17(folder, type);
  CHECK(written.kind("w") == "multiply");
  const NodeId spread = written.operand("w", 1).node;
  CHECK(contains(written.graph.kind(spread), "ather"));
  CHECK(written.graph.ref(spread).attribute_or<std::int64_t>("axis", 9) == 0);
  CHECK(values_of<std::int64_t>(*written.graph.ref(spread).operand_constant(1)) ==
        std::vector<std::int64_t>{0, 0, 1});
  const NodeId floats = written.operand("w", 0).node;
  const bool packed = type.storage == ElementType::int4;
  CHECK(written.graph.kind(floats) == (packed ? "onnx.com.microsoft::DequantizeLinear" : "cast"));
  if (packed) {
    CHECK(values_of<float>(*written.graph.ref(floats).operand_constant(1)) ==
          std::vector<float>{1});
  }
}

TEST_CASE("quantize has no other form") {
  const Folder folder;
  UniformType type;
  type.storage = ElementType::int16;
  type.scales = floats_of(Shape(std::vector<std::int64_t>{}), {0.5F});
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Mystery", {"y"}, {"z"}));
  Graph graph = read_bytes(folder, model(parts, 17));
  const TensorType codes{type.storage, {2, 2}, std::make_shared<const UniformType>(type)};
  const NodeId quantize = graph.add(
      {.kind = "quantize", .operands = {graph.find_value("y")}, .results = {{"q", codes}}});
  graph.add_output("q", {quantize});
  const auto report = write_onnx(graph, folder / "out.onnx");
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::impossible);
  CHECK(contains(report.error().message, "needs opset 21, the model has 17"));
  CHECK(contains(report.error().message, "Mystery"));
}

TEST_CASE("codes read under another type, through storage_casts") {
  const Folder folder;
  Graph graph = quantized_graph(folder, per_axis_type(), 17);
  UniformType raw;  // the same codes, unscaled, with zero points of their own
  raw.granularity = Granularity::per_axis(0);
  raw.storage_min = -127;
  raw.scales = floats_of(Shape{3}, {1, 1, 1});
  const std::vector<std::int8_t> zeros{1, 0, -1};
  raw.zero_points =
      Constant::from_values(ElementType::int8, Shape{3}, std::span<const std::int8_t>(zeros));
  const auto add = [&](std::string kind, std::string result, Value operand, TensorType type) {
    return Value{graph.add({.kind = std::move(kind),
                            .operands = {operand},
                            .results = {{std::move(result), std::move(type)}}})};
  };
  const Value codes = graph.find_value("w_codes");
  const Value plain = add("storage_cast", "plain", codes, {ElementType::int8, {3, 2}, nullptr});
  const Value other = add("storage_cast", "other", plain,
                          {ElementType::int8, {3, 2}, std::make_shared<const UniformType>(raw)});
  graph.add_output("v", add("dequantize", "v", other, {ElementType::float32, {3, 2}, nullptr}));
  const Written written = write_and_read(folder, graph);
  for (const std::string_view value : {"w", "v"}) {
    CHECK(written.kind(value) == "onnx.DequantizeLinear");
    CHECK(written.operand(value, 0) == written.graph.find_value("w_codes"));
  }
  CHECK(values_of<float>(written.constant("w_scale")) == std::vector<float>{0.5F, 1, 2});
  CHECK(values_of<float>(written.constant("v_scale")) == std::vector<float>{1, 1, 1});
  CHECK(values_of<std::int8_t>(written.constant("w_zero_point")) ==
        std::vector<std::int8_t>{0, 0, 0});
  CHECK(values_of<std::int8_t>(written.constant("v_zero_point")) == zeros);
  CHECK(written.graph.find_value("plain").is_absent());
  CHECK(written.graph.find_value("other").is_absent());
}

TEST_CASE("quantize, and storage_cast") {
  const Folder folder;
  UniformType type;
  type.scales = floats_of(Shape(std::vector<std::int64_t>{}), {0.5F});
  SUBCASE("all codes") {}
  SUBCASE("fewer codes than the storage type has") { type.storage_min = -127; }
  const auto shared = std::make_shared<const UniformType>(type);
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, {2, 3}, nullptr});
  const TensorType codes{ElementType::int8, {2, 3}, shared};
  const NodeId quantize =
      graph.add({.kind = "quantize", .operands = {x}, .results = {{"q", codes}}});
  const NodeId cast = graph.add({.kind = "storage_cast",
                                 .operands = {{quantize}},
                                 .results = {{"i", {ElementType::int8, {2, 3}, nullptr}}}});
  graph.add_output("i", {cast});
  const Written written = write_and_read(folder, graph);
  CHECK(written.kind("i") == "identity");
  const bool narrow = type.storage_min == -127;
  CHECK(written.kind("q") == (narrow ? "onnx.Clip" : "onnx.QuantizeLinear"));
  CHECK(written.graph.type(written.graph.find_value("i")).element == ElementType::int8);
}

TEST_CASE("quantize to a part of 4 or 16 bits, of which there is no Clip: limits in front") {
  const Folder folder;
  for (const std::string type : {"u4<1:6>:f32, 0.5", "i16<1:6>:f32:0, {0.5, 0.25}"}) {
    CAPTURE(type);
    const auto graph =
        parse_graph("%x: tensor<2x2xf32> = input()\n%q: tensor<2x2x!quant.uniform<" + type +
                    ">> = quantize(%x)\n%y: tensor<2x2xf32> = dequantize(%q)\noutput(%y)\n");
    REQUIRE(graph);
    const Written written = write_and_read(folder, *graph);
    CHECK(written.kind("q") == "onnx.QuantizeLinear");
    const Value low = written.graph.find_value("x_limited");
    const Value high = written.operand("q", 0);
    CHECK(written.graph.kind(low.node) == "onnx.Max");
    CHECK(written.graph.kind(high.node) == "onnx.Min");
    CHECK(written.graph.operands(high.node)[0] == low);
    CHECK(values_of<float>(written.constant("x_limit")).front() == 0.5F);
    CHECK(written.constant("x_limit").shape().rank() == (type.front() == 'u' ? 0 : 2));
  }
}

TEST_CASE("quantize to a part of 4 bits by blocks, for which there is no form, is refused") {
  const Folder folder;
  const auto graph = parse_graph(R"(
%x: tensor<2x2xf32> = input()
%q: tensor<2x2x!quant.uniform<i4<-7:7>:f32:{1:2}, {0.5, 0.25}>> = quantize(%x)
%y: tensor<2x2xf32> = dequantize(%q)
output(%y)
)");
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
  const auto report = write_onnx(*graph, folder / "out.onnx");
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::impossible);
  CHECK(contains(report.error().message, "part of the codes (axis=1 block=2"));
}

TEST_CASE("listed initializers are listed while they are what they were") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.inputs.push_back(value_info("w", {3, 2}));
  Notes notes;
  const Graph graph = quantized_graph(folder, per_axis_type(), 8, parts);
  REQUIRE(write_onnx(graph, folder / "out.onnx", {.sink = &notes}));
  REQUIRE(notes.messages.size() == 1);
  CHECK(contains(notes.messages[0], "1 quantized initializer(s) are no longer listed"));
}
