// FakeQuantize of a file, and what is written for it. What comes out is run in tests/peers.
#include "model_helpers.hpp"
#include "model_text.hpp"
#include "quadrant/ir/ops.hpp"

using namespace onnx_test;
using test::parsed;

namespace {

Fields fake_quantize(std::string_view domain) {
  return node("FakeQuantize", {"x", "low", "high", "low", "high"}, {"y"}, "fq")
      .message(5, int_attribute("levels", 256))
      .text(7, domain);
}

Fields fake_quantize_model(std::string_view domain, std::int64_t opset) {
  return model({.nodes = {fake_quantize(domain)},
                .initializers = {floats("low", {}, {0}), floats("high", {}, {2.55F})},
                .inputs = {value_info("x", {2, 3})},
                .outputs = {value_info("y", {2, 3})},
                .value_infos = {}},
               opset)
      .message(8, Fields().text(1, "org.openvinotoolkit").integer(2, 1));
}

struct WrittenForm {
  OnnxWriteReport report;
  Graph graph;
  /// Kinds of the nodes that are neither inputs, outputs nor constants, in the file's order.
  std::vector<std::string> kinds;
};

WrittenForm written_form(const Folder& folder, const Graph& graph,
                         const OnnxWriteOptions& options = {}) {
  Written read = write_and_read(folder, graph, options);
  WrittenForm written{std::move(read.report), std::move(read.graph), {}};
  for (std::uint32_t i = 0; i < written.graph.index_bound(); ++i) {
    const NodeId id = written.graph.node_at(i);
    if (!id.is_valid()) continue;
    const std::string_view kind = written.graph.kind(id);
    if (kind != ops::Input::kind && kind != ops::Output::kind && kind != ops::Constant::kind) {
      written.kinds.emplace_back(kind);
    }
  }
  return written;
}

/// One fake_quantize, whose output bounds are those of the input.
std::string text_of(std::string_view x, std::string_view bound, std::string_view lows,
                    std::string_view highs, std::string_view attributes) {
  std::string text = "%x: " + std::string(x) + " = input()\n";
  text += "%low: " + std::string(bound) + " = constant() [" + std::string(lows) + "]\n";
  text += "%high: " + std::string(bound) + " = constant() [" + std::string(highs) + "]\n";
  text += "%y: " + std::string(x) + " = fake_quantize(%x, %low, %high, %low, %high) {";
  return text + std::string(attributes) + "}\noutput(%y)\n";
}

const std::vector<std::string> linear_form{"onnx.QuantizeLinear", "onnx.DequantizeLinear"};

bool is_linear(const Folder& folder, const std::string& text) {
  const WrittenForm written = written_form(folder, parsed(text));
  CHECK(written.report.fake_quantize_linear + written.report.fake_quantize_arithmetic == 1);
  return written.report.fake_quantize_linear == 1;
}

constexpr std::string_view x_type = "tensor<2x3xf32>";
constexpr std::string_view one = "tensor<f32>";

}  // namespace

TEST_CASE("FakeQuantize of OpenVINO's domain, and of none, is a fake_quantize") {
  const Folder folder;
  for (const std::string_view domain : {"org.openvinotoolkit", ""}) {
    CAPTURE(domain);
    const Graph graph = read_bytes(folder, fake_quantize_model(domain, 17));
    const NodeRef node = graph.ref(graph.find_value("y").node);
    CHECK(node.kind() == ops::FakeQuantize::kind);
    CHECK(ops::FakeQuantize{node}.levels() == 256);
    CHECK(node.name() == "fq");
  }
  const Graph other = read_bytes(folder, fake_quantize_model("somebody.else", 17));
  CHECK(other.kind(other.find_value("y").node) == "onnx.somebody.else::FakeQuantize");
}

TEST_CASE("a FakeQuantize without levels is refused, by name") {
  const Folder folder;
  const Error error =
      error_of(folder, model({.nodes = {node("FakeQuantize", {"x", "x", "x", "x", "x"}, {"y"}, "fq")
                                            .text(7, "org.openvinotoolkit")},
                              .initializers = {},
                              .inputs = {value_info("x", {2, 3})},
                              .outputs = {value_info("y", {2, 3})},
                              .value_infos = {}}));
  CHECK(error.place.node == "fq");
  CHECK(contains(error.message, "levels"));
}

TEST_CASE("it stays where that is asked for, as OpenVINO's") {
  const Folder folder;
  for (const std::string_view domain : {"org.openvinotoolkit", ""}) {
    for (const std::int64_t opset : {9, 17}) {
      const Graph graph = read_bytes(folder, fake_quantize_model(domain, opset));
      const WrittenForm kept =
          written_form(folder, graph, {.fake_quantize = FakeQuantizeForm::openvino});
      CHECK(kept.kinds == std::vector<std::string>{"fake_quantize"});
      CHECK(kept.report.opset_written == opset);
      CHECK(contains(contents_of(folder / "out.onnx"), "org.openvinotoolkit"));
    }
  }
  // OpenVINO does not read there how bounds are stretched.
  const Graph graph = parsed(
      text_of(x_type, "tensor<2xf32>", "0, 0", "1, 2", R"(auto_broadcast = "pdpd", levels = 256)"));
  CHECK(written_form(folder, graph, {.fake_quantize = FakeQuantizeForm::openvino}).kinds ==
        linear_form);
}

TEST_CASE("QuantizeLinear and DequantizeLinear: unsigned") {
  const Folder folder;
  const Graph graph = read_bytes(folder, fake_quantize_model("org.openvinotoolkit", 17));
  const WrittenForm written = written_form(folder, graph);
  CHECK(written.kinds == linear_form);
  const NodeRef y = written.graph.ref(written.graph.find_value("y").node);
  CHECK(y.name() == "fq");
  CHECK(values_of<float>(*y.operand_constant(1)) == std::vector<float>{0.01F});
  CHECK(values_of<std::uint8_t>(*y.operand_constant(2)) == std::vector<std::uint8_t>{0});
}

TEST_CASE("elementary operators, also where codes would do") {
  const Folder folder;
  const Graph graph = read_bytes(folder, fake_quantize_model("org.openvinotoolkit", 17));
  const WrittenForm written =
      written_form(folder, graph, {.fake_quantize = FakeQuantizeForm::elementary});
  CHECK(written.report.fake_quantize_arithmetic == 1);
  CHECK(written.kinds.size() == 15);
  CHECK(written.kinds.back() == "onnx.Where");
}

TEST_CASE("QuantizeLinear and DequantizeLinear: signed, with a zero point, and with a Clip") {
  const Folder folder;
  const auto codes = [&](std::string_view low, std::string_view high, std::string_view levels) {
    return written_form(folder, parsed(text_of(x_type, one, low, high, levels)));
  };
  const auto zero_point = [](const WrittenForm& written) {
    const NodeRef y = written.graph.ref(written.graph.find_value("y").node);
    return *y.operand_constant(2);
  };
  const WrittenForm full = codes("-1.28", "1.27", "levels = 256");
  CHECK(full.kinds == linear_form);
  CHECK(values_of<std::int8_t>(zero_point(full)) == std::vector<std::int8_t>{0});

  const WrittenForm shifted = codes("-0.5", "2.05", "levels = 256");
  CHECK(shifted.kinds == linear_form);
  CHECK(values_of<std::uint8_t>(zero_point(shifted)) == std::vector<std::uint8_t>{50});

  const WrittenForm narrow = codes("-1.27", "1.27", "levels = 255");
  REQUIRE(narrow.kinds.size() == 3);
  CHECK(narrow.kinds[1] == "onnx.Clip");
  CHECK(zero_point(narrow).element() == ElementType::int8);
  const NodeRef clip =
      narrow.graph.ref(narrow.graph.ref(narrow.graph.find_value("y").node).operand(0).node);
  CHECK(values_of<std::int8_t>(*clip.operand_constant(1)) == std::vector<std::int8_t>{-127});
  CHECK(values_of<std::int8_t>(*clip.operand_constant(2)) == std::vector<std::int8_t>{127});
}

TEST_CASE("QuantizeLinear and DequantizeLinear: along an axis, converting the model if need be") {
  const Folder folder;
  for (const std::int64_t opset : {11, 17}) {
    const std::string head = R"(graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [)" +
                             std::to_string(opset) + "]}\n";
    const WrittenForm written =
        written_form(folder, parsed(head + text_of(x_type, "tensor<2x1xf32>", "0, -1.28",
                                                   "2.55, 1.27", "levels = 256")));
    CHECK(written.kinds == linear_form);
    CHECK(written.report.opset_written == std::max<std::int64_t>(opset, 13));
    const NodeRef y = written.graph.ref(written.graph.find_value("y").node);
    CHECK(y.attribute_or<std::int64_t>("axis", -1) == 0);
    CHECK(values_of<std::uint8_t>(*y.operand_constant(2)) == std::vector<std::uint8_t>{0, 128});
  }
}

TEST_CASE("which are codes and scales, and which are not") {
  const Folder folder;
  CHECK(is_linear(folder, text_of(x_type, one, "0", "1", "levels = 2")));
  CHECK(is_linear(folder, text_of(x_type, one, "-8", "7", "levels = 16")));
  CHECK(is_linear(folder, text_of(x_type, "tensor<1x1xf32>", "0", "1", "levels = 256")));
  CHECK(is_linear(folder, text_of("tensor<*xf32>", "tensor<1xf32>", "0", "1", "levels = 256")));
  CHECK(is_linear(folder, text_of("tensor<2x3xf16>", "tensor<f16>", "0", "255", "levels = 256")));

  CHECK(!is_linear(folder, text_of(x_type, one, "-1", "1", "levels = 256")));  // 0 is no level
  CHECK(!is_linear(folder, text_of(x_type, one, "1", "3.55", "levels = 256")));
  CHECK(!is_linear(folder, text_of(x_type, one, "1", "0", "levels = 256")));
  CHECK(!is_linear(folder, text_of(x_type, one, "1", "1", "levels = 256")));
  CHECK(!is_linear(folder, text_of(x_type, one, "-inf", "inf", "levels = 256")));
  CHECK(!is_linear(folder, text_of(x_type, one, "0", "nan", "levels = 256")));
  CHECK(!is_linear(folder, text_of(x_type, one, "0", "1", "levels = 257")));
  CHECK(!is_linear(folder, text_of("tensor<2x3xf64>", "tensor<f64>", "0", "1", "levels = 256")));
  CHECK(!is_linear(folder, text_of("tensor<2x2xf32>", "tensor<2x2xf32>", "0, 0, 0, 0", "1, 2, 3, 4",
                                   "levels = 256")));
  CHECK(!is_linear(folder,
                   "%x: tensor<2x3xf32> = input()\n%z: tensor<f32> = constant() [0]\n"
                   "%a: tensor<f32> = constant() [1]\n%b: tensor<f32> = constant() [2]\n"
                   "%y: tensor<2x3xf32> = fake_quantize(%x, %z, %a, %z, %b) "
                   "{levels = 256}\noutput(%y)\n"));
  CHECK(!is_linear(folder,
                   "%x: tensor<2x3xf32> = input()\n%a: tensor<f32> = input()\n"
                   "%y: tensor<2x3xf32> = fake_quantize(%x, %a, %a, %a, %a) "
                   "{levels = 256}\noutput(%y)\n"));
}

TEST_CASE("where the model cannot be converted, the message says why") {
  const Folder folder;
  const Graph graph = parsed(R"(graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [9]})"
                             "\n" +
                             text_of(x_type, one, "-1", "1", "levels = 256") +
                             "%z: tensor<2x3xf32> = onnx.Strange(%x)\noutput(%z)\n");
  const auto written = write_onnx(graph, folder / "out.onnx");
  REQUIRE(!written);
  CHECK(contains(written.error().message, "fake_quantize needs opset 13"));
  CHECK(contains(written.error().message, "Strange"));
}
