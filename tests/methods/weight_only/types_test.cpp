// Weights in number formats.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/scales.hpp"
#include "methods/weight_only/build.hpp"
#include "methods/weight_only/evaluate.hpp"
#include "model_text.hpp"
#include "quadrant/ir/number_format.hpp"

using namespace quadrant;
using test::count_of_kind;

namespace {

// y = x w, of w [64, 6].
Graph product() {
  Graph graph;
  const Value w = build::weight(graph, "w", {64, 6});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "y", {build::input(graph, "x", {2, 64}), w}));
  return graph;
}

const Quantization& quantization_of(const QuantizeResult& result, std::string_view name) {
  const Value codes = result.graph.find_value(name);
  REQUIRE_FALSE(codes.is_absent());
  return result.graph.type(codes).quantization;
}

Error refused(WeightOnlyOptions options) {
  const auto scheme = WeightOnly::make(std::move(options));
  REQUIRE_FALSE(scheme);
  return scheme.error();
}

}  // namespace

TEST_CASE("a weight is stored in the format that is named, along the axes of its product") {
  for (const NamedFormat& named : named_formats()) {
    CAPTURE(named.name);
    Graph graph = product();
    const auto result = build::quantize(graph, {.type = std::string(named.name)});
    auto expected = parse_number_format(named.name, {.channel = 1, .block = 0});
    REQUIRE(expected);
    const Quantization& made = quantization_of(result, "w_quantized");
    if (auto* const scale = std::get_if<FloatScale>(&expected->scales.front().type)) {
      if (made.uniform()) scale->has_sign = false;  // uniform types do not say
    }
    CHECK(scaled_format(made).format == *expected);
    CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 1);
    const auto inputs = evaluate::some_inputs(graph);
    if (!made.uniform()) continue;
    // 2 bits leave a fifth of the signal's root mean square, 8 a thousandth.
    CHECK(evaluate::relative_error(evaluate::outputs(result.graph, inputs),
                                   evaluate::outputs(graph, inputs)) < 0.6);
  }
}

TEST_CASE("the plan counts the bytes that the format takes") {
  Graph graph = product();
  const auto result = build::quantize(graph, {.type = "nf4"});
  REQUIRE(result.analysis.plan.values.size() == 1);
  // 4 bytes each, and then half a byte each with 6 scales.
  const double saved = 64 * 6 * 4 - (64 * 3 + 6 * 4);
  CHECK(result.analysis.plan.values.front().gain.amount() == doctest::Approx(saved));
}

TEST_CASE("blocks and scales may be others than the format's") {
  Graph graph = product();
  const auto result = build::quantize(graph, {.type = "nf4",
                                              .granularity = Granularity::Kind::block,
                                              .block_size = 16,
                                              .scale_type = ElementType::float16});
  CHECK(to_string(scaled_format(quantization_of(result, "w_quantized")).format) ==
        "nf4 * f16[axis=0 block=16] : f32");
}

TEST_CASE("the channel of matrices in batches is that of the product") {
  Graph graph;
  const Value w = build::weight(graph, "w", {3, 64, 6});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "y", {build::input(graph, "x", {3, 2, 64}), w}));
  const auto result = build::quantize(graph, {.type = "lpbq4"});
  CHECK(to_string(scaled_format(quantization_of(result, "w_quantized")).format) ==
        "i4<-7:7> * f32[axis=2] * u4<1:16>[axis=1 block=64] : f32");
}

TEST_CASE("float32 scales are said, too") {
  Graph graph = product();
  const auto result = build::quantize(graph, {.type = "int4", .scale_type = ElementType::float32});
  CHECK(scaled_format(quantization_of(result, "w_quantized")).scales.front().element() ==
        ElementType::float32);
}

TEST_CASE("weights whose scales float16 does not hold are refused, and float32 ones do") {
  for (const float size : {1e9F, 1e-9F}) {
    Graph graph;
    const Value w = build::weight(graph, "w", {64, 6}, [size](std::size_t i) {
      return size * (static_cast<float>(i % 13) - 6);
    });
    graph.add_output(
        "y", build::node(graph, ops::MatMul::kind, "y", {build::input(graph, "x", {2, 64}), w}));
    REQUIRE(infer_shapes(graph));
    const auto result = quantize_weight_only(graph, {.type = "int4"});
    REQUIRE_FALSE(result);
    CHECK(result.error().message.find("scales of float32 hold them") != std::string::npos);
    CHECK(quantize_weight_only(graph, {.type = "int4", .scale_type = ElementType::float32}));
  }
}

TEST_CASE("tables that codes look up are no weights") {
  Graph graph;
  const Value table = build::weight(graph, "table", {16, 8});
  const Value codes = graph.add_constant(
      "codes",
      Constant::from_vector(ElementType::uint8, {4}, std::vector<std::uint8_t>{0, 5, 9, 3}));
  const Value places = build::node(graph, ops::Cast::kind, "places", {codes},
                                   {{"to", element_type_number(ElementType::int32)}});
  graph.set_type(places, {ElementType::int32, {4}, {}});
  const Value rows =
      build::node(graph, ops::Gather::kind, "rows", {table, places}, {{"axis", std::int64_t{0}}});
  graph.add_output(
      "y", build::node(graph, ops::Add::kind, "y", {build::input(graph, "x", {4, 8}), rows}));
  const auto result = build::quantize(graph, WeightOnlyOptions{});
  CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 0);
}

TEST_CASE("half weights express halves") {
  Graph graph;
  const std::vector<float> values{0.5F, -1, 2, 0.25F, 1, 1.5F, -0.75F, 0};
  const Value w = graph.add_constant("w", make_scales(ElementType::float16, {4, 2}, values));
  const Value x = graph.add_input("x", {ElementType::float16, {2, 4}, {}});
  const Value y{graph.add({.kind = std::string(ops::MatMul::kind),
                           .operands = {x, w},
                           .results = {{"y", {ElementType::float16, {2, 2}, {}}}}})};
  graph.add_output("y", y);
  const auto result = build::quantize(graph, {.type = "mxfp4"});
  CHECK(quantization_of(result, "w_quantized").expressed() == ElementType::float16);
}

TEST_CASE("codes of a format that is not uniform do not move: the weight does, if it is alone") {
  struct Example {
    const char* type;
    bool is_alone;
    int dequantized;
    int transposed;
  };
  for (const Example& example : {Example{"int4", true, 1, 1}, Example{"nf4", true, 1, 0},
                                 Example{"int4", false, 1, 1}, Example{"nf4", false, 0, 1}}) {
    CAPTURE(example.type);
    CAPTURE(example.is_alone);
    Graph graph;
    const Value w = build::weight(graph, "w", {6, 64});
    const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
    graph.add_output(
        "y", build::node(graph, ops::MatMul::kind, "y", {build::input(graph, "x", {2, 64}), t}));
    if (!example.is_alone) graph.add_output("z", build::node(graph, "onnx.Neg", "z", {w}));
    const auto result = build::quantize(graph, {.type = example.type});
    CHECK(count_of_kind(result.graph, ops::Dequantize::kind) >= example.dequantized);
    CHECK((count_of_kind(result.graph, ops::Dequantize::kind) > 0) == (example.dequantized > 0));
    CHECK(count_of_kind(result.graph, ops::Transpose::kind) == example.transposed);
  }
}

TEST_CASE("a type with scales for channels takes blocks, along the sums of the product") {
  Graph graph = product();
  const auto result = build::quantize(
      graph, {.type = "int8", .granularity = Granularity::Kind::block, .block_size = 16});
  CHECK(innermost_groups(scaled_format(quantization_of(result, "w_quantized")).format) ==
        Granularity::per_block(0, 16));
}

TEST_CASE("types that cannot be say why") {
  CHECK(refused({.type = "nf5"}).message.find("did you mean 'nf4'") != std::string::npos);
  CHECK(refused({.type = "nf4 * f32[block=64"}).code == ErrorCode::usage);
  CHECK(refused({.type = "i20 * f32[channel] : f32"}).message.find("16") != std::string::npos);
  CHECK(refused({.type = "nf4", .form = WeightOnlyOptions::Form::behind}).message.find("'front'") !=
        std::string::npos);
  CHECK(refused({.type = "codebook:16", .granularity = Granularity::Kind::block})
            .message.find("no blocks") != std::string::npos);
  CHECK(refused({.type = "i8 * f32[axis=0] : f32"}).message.find("'channel'") != std::string::npos);
  CHECK(refused({.scale_type = ElementType::float8e4m3}).code == ErrorCode::impossible);
}

TEST_CASE("a weight without the axes of a format stays as it is") {
  Graph graph;
  const Value w = build::weight(graph, "w", {64});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "y", {build::input(graph, "x", {2, 64}), w}));
  CHECK(count_of_kind(build::quantize(graph, {.type = "fp8-e4m3"}).graph, ops::Dequantize::kind) ==
        0);
  CHECK(count_of_kind(build::quantize(graph, {.type = "nf4"}).graph, ops::Dequantize::kind) == 1);
}
