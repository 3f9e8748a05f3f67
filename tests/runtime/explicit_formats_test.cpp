#include "ir/explicit_formats.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/opset.hpp"
#include "model_text.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "runtime/formats.hpp"

namespace quadrant::test {
namespace {

std::vector<float> computed(const Graph& graph) {
  const std::vector<Value> outputs_of = output_values(graph);
  const auto model = value_of(Interpreter().load(graph, outputs_of));
  const Tensors outputs = value_of(run_model(*model, {}, outputs_of.size()));
  const auto values = outputs.front().as<float>();
  return {values.begin(), values.end()};
}

// Bit by bit, but for the sign of 0.
void check_same(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == b[i]);
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const NamedFormat& named : named_formats()) made.emplace_back(named.name);
    for (const std::string_view more :
         {"codebook:4",
          "codebook:16",
          "codebook:16:channel",
          "codebook:8:group",
          "codebook:40",
          "i4 : f32",
          "i4 * f16[block=16] * u6[block=4] : f32",
          "(u4 - z) * bf16[block=8] : f32",
          "(u2 - z) * f8e8m0[block=8] : f32",
          "u4 * f32[block=32] * u6[block=8] - f16[block=16] * u6[block=8] : f32",
          "u8 : f32",
          "table<5 x f16>[channel] : f32",
          "f6e2m3 * f32[block=8] : f32",
          "f6e3m2 * bf16[channel] : f32",
          "u2 * f16[block=8] - f16[block=8] : f32",
          "(u3 - z) * f8e4m3[block=4] : f32",
          "i4 * f32[tensor] * f8e4m3[channel] * u4<1:16>[block=6] : f32",
          "table<16 x f16>[tensor] * f32[tensor] * +-f8e4m3[block=16] : f32",
          "f8e5m2 : f32",
          "i10 * bf16[channel] : f32",
          "i3 * f32[tensor] * u4<1:16>[block=8] : f32",
          "i6 * bf16[channel] : f32",
          "nf4 * f32[tensor] : f32"}) {
      made.emplace_back(more);
    }
    return made;
  }();
  return all;
}

}  // namespace

TEST_CASE("arithmetic computes what a dequantize does, in every format and layout") {
  struct Layout {
    Shape shape;
    FormatAxes axes;
  };
  for (const Layout& layout :
       {Layout{{4, 64}, {0, 1}}, Layout{{64, 6}, {1, 0}}, Layout{{3, 37}, {0, 1}},
        Layout{{5, 16, 3, 3}, {0, 1}}, Layout{{2, 3, 34}, {1, 2}}, Layout{{1, 512}, {0, 1}},
        Layout{{6, 3}, {1, 0}}, Layout{{2, 16, 2}, {2, 1}}}) {
    for (const std::string& text : texts()) {
      const auto format = parse_number_format(text, layout.axes);
      REQUIRE_MESSAGE(format, to_string(format.error()));
      const Graph graph = graph_of(*format, layout.shape);
      REQUIRE_MESSAGE(verify(graph), text);
      Graph spelled_out = graph;
      REQUIRE(make_formats_explicit(spelled_out, nullptr));
      CAPTURE(text);
      CAPTURE(to_string(layout.shape));
      const auto valid = verify(spelled_out);
      REQUIRE_MESSAGE(valid, to_string(valid.error()));
      CHECK(count_of_kind(spelled_out, ops::Dequantize::kind) == (is_uniform(*format) ? 1 : 0));
      CHECK_FALSE(spelled_out.find_value("y").is_absent());
      check_same(computed(spelled_out), computed(graph));
    }
  }
}

TEST_CASE("codes that whoever comes next has elements for are read as they are") {
  const auto has_tables_and_floats = [](const NumberCode& code,
                                        std::span<const std::int64_t> /*sums*/) {
    return std::holds_alternative<FixedTable>(code) || std::holds_alternative<FloatCode>(code);
  };
  // Of codes, and of small floats as scales.
  for (const auto& [text, count] :
       {std::pair("nf4", 1), std::pair("mxfp4", 2), std::pair("nvfp4", 2), std::pair("fp8-e4m3", 1),
        std::pair("q4_k", 0), std::pair("codebook:16", 0)}) {
    CAPTURE(text);
    const Graph graph = graph_of(value_of(parse_number_format(text)), {4, 64});
    Graph spelled_out = graph;
    REQUIRE(make_formats_explicit(spelled_out, nullptr, has_tables_and_floats));
    REQUIRE(verify(spelled_out));
    CHECK(count_of_kind(spelled_out, ops::Dequantize::kind) == count);
    check_same(computed(spelled_out), computed(graph));
    const std::string once = print_graph(spelled_out);
    REQUIRE(make_formats_explicit(spelled_out, nullptr, has_tables_and_floats));
    CHECK(print_graph(spelled_out) == once);
  }
}

TEST_CASE("sums run over all axes but a channel, which the products that read the weight tell") {
  // A weight of 6 inputs and 5 outputs, scales along either axis.
  for (const auto& [scales, reader, wanted] :
       {std::tuple("axis=1", ops::MatMul::kind, std::vector<std::int64_t>{6}),
        std::tuple("axis=0", ops::MatMul::kind, std::vector<std::int64_t>{6, 5}),
        std::tuple("axis=1", ops::Transpose::kind, std::vector<std::int64_t>{6, 5})}) {
    CAPTURE(scales);
    CAPTURE(reader);
    Graph graph =
        graph_of(value_of(parse_number_format(fmt::format("nf4 * f32[{}] : f32", scales))), {6, 5});
    const NodeId real = graph.operands(graph.outputs()[0])[0].node;
    NodeSpec spec{.kind = std::string(reader)};
    const TensorType type{ElementType::float32, Shape{6, 6}, nullptr};
    if (reader == ops::MatMul::kind) spec.operands.push_back(graph.add_input("x", type));
    spec.operands.push_back({real});
    spec.results = {{"z", {ElementType::float32, Shape(), nullptr}}};
    const NodeId made = graph.add(std::move(spec));
    graph.set_operand(graph.outputs()[0], 0, {made});
    std::vector<std::int64_t> found;
    const auto note_sums = [&](const NumberCode& /*code*/, std::span<const std::int64_t> sums) {
      found.assign(sums.begin(), sums.end());
      return false;
    };
    REQUIRE(make_formats_explicit(graph, nullptr, note_sums));
    CHECK(found == wanted);
  }
}

TEST_CASE("codes that a table does not have are its last one, in both") {
  const std::string text =
      "graph {}\n%w: tensor<2x3x!quadrant.numbers<\"table<5 x f16>[axis=0] : f32\", [1, 2, 3, 4, "
      "5, "
      "6, 7, 8, 9, 10]>> = constant() [0, 4, 7, 0, 5, 2]\n%y: tensor<2x3xf32> = dequantize(%w)\n"
      "output(%y)\n";
  Graph graph = value_of(parse_graph(text));
  CHECK(computed(graph) == std::vector<float>{1, 5, 5, 6, 10, 8});
  REQUIRE(make_formats_explicit(graph, nullptr));
  CHECK(computed(graph) == std::vector<float>{1, 5, 5, 6, 10, 8});
}

TEST_CASE("patterns that stand for no number are none in both") {
  const Graph graph = value_of(
      parse_graph("graph {}\n%w: tensor<1x4x!quadrant.numbers<\"f8e4m3 : f32\">> = constant() "
                  "[127, 255, 126, 0]\n%y: tensor<1x4xf32> = dequantize(%w)\noutput(%y)\n"));
  Graph spelled_out = graph;
  REQUIRE(make_formats_explicit(spelled_out, nullptr));
  for (const std::vector<float>& values : {computed(graph), computed(spelled_out)}) {
    CHECK(std::isnan(values[0]));
    CHECK(std::isnan(values[1]));
    CHECK(values[2] == 448);
    CHECK(values[3] == 0);
  }
}

TEST_CASE("levels of scales are multiplied without a lookup, where blocks are whole") {
  for (const std::int64_t extent : {512, 256, 64, 32, 16}) {
    Graph graph = graph_of(value_of(parse_number_format("q4_k")), {2, extent});
    REQUIRE(make_formats_explicit(graph, nullptr));
    CHECK(count_of_kind(graph, ops::Gather::kind) == 1);  // of the codes
  }
}

TEST_CASE("constants without elements, and those that nobody reads") {
  Graph graph = value_of(parse_graph(
      "graph {}\n%w: tensor<0x1099511627776x!quadrant.numbers<\"nf4 * f32[axis=1 "
      "block=3] : f32\", []>> = constant() []\n"
      "%u: tensor<1x2x!quadrant.numbers<\"nf4 * f32[tensor] : f32\", [1]>> = constant() "
      "[0, 1]\n%y: tensor<0x1099511627776xf32> = dequantize(%w)\noutput(%y)\n"));
  REQUIRE(make_formats_explicit(graph, nullptr));
  REQUIRE(verify(graph));
  CHECK(count_of_kind(graph, ops::Constant::kind) == 1);
}

TEST_CASE("scales that their level cannot hold are refused") {
  const auto model = [](std::string_view format, std::string_view numbers) {
    return fmt::format(
        "graph {{}}\n%w: tensor<1x2x!quadrant.numbers<\"{}\", {}>> = constant() [0, 1]\n"
        "%y: tensor<1x2xf32> = dequantize(%w)\noutput(%y)\n",
        format, numbers);
  };
  struct Level {
    std::string_view format;
    std::string_view good;
    std::vector<std::string_view> bad;
  };
  for (const Level& level :
       {Level{"nf4 * f16[tensor] : f32", "[0.5]", {"[0.1]", "[1e6]", "[-0.5]", "[inf]"}},
        Level{"nf4 * +-bf16[tensor] : f32", "[-0.5]", {"[0.1]", "[nan]"}},
        Level{"nf4 * f8e8m0[tensor] : f32", "[0.25]", {"[0.3]", "[0.0]", "[-1.0]"}},
        Level{"nf4 * f8e4m3[tensor] : f32", "[448]", {"[449]", "[500]", "[-1]"}},
        Level{"nf4 * f32[tensor] * u6[axis=0] : f32",
              "[1.0], [63]",
              {"[1.0], [64]", "[1.0], [2.5]", "[1.0], [-1]", "[1.0], [1e30]"}},
        Level{"(u4<0:9> - z) * bf16[tensor] : f32", "[1.0], [9]", {"[1.0], [10]"}}}) {
    CAPTURE(level.format);
    const auto good = verify(value_of(parse_graph(model(level.format, level.good))));
    CHECK_MESSAGE(good, to_string(good ? Error{} : good.error()));
    for (const std::string_view numbers : level.bad) {
      CAPTURE(numbers);
      const auto graph = parse_graph(model(level.format, numbers));
      const bool is_sound = graph && verify(*graph);
      CHECK_FALSE(is_sound);
    }
  }
}

TEST_CASE("four bits stay four bits, whatever the extents, and scales of 8 bits are bytes") {
  struct Case {
    Shape shape;
    std::int64_t opset;
    std::uint64_t bytes;
  };
  for (const Case& each :
       {Case{{32, 64}, 21, 32 * 64 / 2 + 32 * 64 / 16},
        Case{{5, 16, 3, 3}, 21, 5 * 16 * 9 / 2 + 5 * 9},
        Case{{4, 33}, 9, 4 * 33 / 2 + 4 * 3},  // below opset 10
        Case{{7, 33}, 21, (7 * 33 + 1) / 2 + 7 * 3}, Case{{7, 33}, 9, 7 * 33 + 7 * 3}}) {
    CAPTURE(to_string(each.shape));
    Graph graph = graph_of(value_of(parse_number_format("nvfp4")), each.shape);
    graph.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
    graph.attributes().set(std::string(opset_versions_key), std::vector{each.opset});
    const std::vector<float> before = computed(graph);
    REQUIRE(make_formats_explicit(graph, nullptr));
    std::uint64_t bytes = 0;
    for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
      const NodeId node = graph.node_at(index);
      const Constant* const constant = node.is_valid() ? graph.constant(node) : nullptr;
      if (constant != nullptr && constant->element() == ElementType::uint8) {
        bytes += constant->byte_size();
      }
    }
    CHECK(bytes == each.bytes);
    check_same(computed(graph), before);
  }
}

TEST_CASE("text says formats that are not uniform, and reads them back") {
  for (const std::string& text : texts()) {
    CAPTURE(text);
    const Graph graph = graph_of(value_of(parse_number_format(text)), {4, 24});
    const auto printed = print_model(graph);
    REQUIRE_MESSAGE(printed, to_string(printed.error()));
    const auto again = parse_graph(*printed);
    REQUIRE_MESSAGE(again, to_string(again.error()));
    CHECK(print_model(*again) == *printed);
    check_same(computed(*again), computed(graph));
  }
}

TEST_CASE("text that says a format wrongly is an error with its place") {
  const std::string good =
      "graph {}\n%w: tensor<1x4x!quadrant.numbers<\"nf4 * f32[axis=1 block=2] : f32\", [1, 2]>> = "
      "constant() [0, 1, 2, 15]\n%y: tensor<1x4xf32> = dequantize(%w)\noutput(%y)\n";
  REQUIRE(parse_graph(good));
  CHECK(computed(*parse_graph(good))[3] == 2.0F);
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {changed("[1, 2]", "[1]"), changed("[1, 2]", "[1, nan]"), changed("[1, 2]", "[...]"),
        changed(", [1, 2]", ""), changed("nf4 *", "nf5 *"), changed("axis=1", "axis=2"),
        changed("dequantize(%w)", "onnx.Relu(%w)"), changed("[1, 2]", "[1, 2], [3]"),
        changed("nf4 * f32[axis=1 block=2] : f32\", [1, 2]", "f8e4m3 : f32\", [1]"),
        changed("output(%y)", "output(%w)"), changed("15]", "16]")}) {
    const auto graph = parse_graph(text);
    const bool is_refused = !graph || !verify(*graph);
    CHECK_MESSAGE(is_refused, text);
    if (!graph) CHECK(to_string(graph.error()).find("line ") != std::string::npos);
  }
}

}  // namespace quadrant::test
