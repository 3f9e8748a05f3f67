#include "ir/aliases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Graph resolved(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, to_string(graph.error()));
  const auto done = resolve_aliases(*graph);
  REQUIRE_MESSAGE(done, to_string(done.error()));
  return *std::move(graph);
}

std::vector<std::string> kinds_of(const Graph& graph) {
  std::vector<std::string> kinds;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node).starts_with("onnx.")) {
      kinds.emplace_back(graph.kind(node));
    }
  }
  std::ranges::sort(kinds);
  return kinds;
}

}  // namespace

TEST_CASE("another name is replaced, and names of values and nodes stay") {
  const Graph graph = resolved(R"(graph {}
%x: tensor<2x3xf32> = input()
%y: tensor<2x3xf32> = onnx.com.microsoft::Gelu(%x) {name = "act"}
output(%y) {name = "y"}
)");
  CHECK(kinds_of(graph) == std::vector<std::string>{"onnx.Gelu"});
  const Value made = graph.find_value("y");
  REQUIRE_FALSE(made.is_absent());
  CHECK(graph.kind(made.node) == "onnx.Gelu");
  CHECK(graph.name(made.node) == "act");
  CHECK(graph.type(made).shape == Shape{2, 3});
}

TEST_CASE("a gated operand is a product with Swish of the gate") {
  const Graph graph = resolved(R"(graph {}
%a: tensor<2x3xf32> = input()
%b: tensor<2x3xf32> = input()
%y: tensor<2x3xf32> = onnx.SwiGLU(%a, %b) {alpha = 2.0}
output(%y)
)");
  CHECK(kinds_of(graph) == std::vector<std::string>{"onnx.Swish"});
  const NodeRef product = graph.ref(graph.find_value("y").node);
  CHECK(product.kind() == "multiply");
  CHECK(product.operand(1) == graph.find_value("b"));
  const NodeRef gate = graph.ref(product.operand(0).node);
  CHECK(gate.operand(0) == graph.find_value("a"));
  CHECK(gate.attribute_or<double>("alpha", 1) == 2);
}

TEST_CASE("results of which only some have a counterpart") {
  constexpr std::string_view text = R"(graph {}
%x: tensor<2x4xf32> = input()
%s: tensor<2x4xf32> = input()
%g: tensor<4xf32> = constant() [1, 2, 3, 4]
%y: tensor<2x4xf32>, %m: tensor<2x1xf32>, %v: tensor<2x1xf32>, %sum: tensor<2x4xf32> =
  onnx.com.microsoft::SkipLayerNormalization(%x, %s, %g) {epsilon = 0.5}
output(%y)
output(%READ)
)";
  const auto reading = [&](std::string_view which) {
    std::string graph(text);
    graph.replace(graph.find("READ"), 4, which);
    return resolved(graph);
  };
  CHECK(kinds_of(reading("sum")) == std::vector<std::string>{"onnx.LayerNormalization"});
  CHECK_FALSE(reading("sum").find_value("sum").is_absent());
  CHECK(kinds_of(reading("m")) ==
        std::vector<std::string>{"onnx.com.microsoft::SkipLayerNormalization"});
}

TEST_CASE("an activation that is not known stays, and leaves nothing behind") {
  const Graph graph = resolved(R"(graph {}
%x: tensor<1x2x4x4xf32> = input()
%w: tensor<3x2x3x3xf32> = input()
%y: tensor<1x3x2x2xf32> = onnx.com.microsoft::FusedConv(%x, %w) {activation = "Mish"}
output(%y)
)");
  CHECK(kinds_of(graph) == std::vector<std::string>{"onnx.com.microsoft::FusedConv"});
  CHECK(graph.node_count() == 4);
}

TEST_CASE("an operation without results stays as it is") {
  const Graph graph = resolved(R"(graph {}
%x: tensor<2x3xf32> = input()
onnx.com.microsoft::Gelu(%x)
)");
  CHECK(kinds_of(graph) == std::vector<std::string>{"onnx.com.microsoft::Gelu"});
}

TEST_CASE("operands that what a node stands for does not take are an error, and nothing changes") {
  for (const std::string_view operation :
       {"onnx.SwiGLU(%x, %n)", "onnx.com.microsoft::BiasGelu(%x, %n)",
        "onnx.com.microsoft::FusedMatMul(%x, %n)",
        "onnx.com.microsoft::SkipLayerNormalization(%x, %n, %x)"}) {
    CAPTURE(operation);
    auto graph = parse_graph(fmt::format(R"(graph {{}}
%x: tensor<3x3xf32> = input()
%n: tensor<3x3xi64> = input()
%y: tensor<3x3xf32> = {} {{name = "of"}}
output(%y)
)",
                                         operation));
    REQUIRE_MESSAGE(graph, to_string(graph.error()));
    const std::string before = print_graph(*graph);
    const auto done = resolve_aliases(*graph);
    REQUIRE_FALSE(done);
    CHECK_MESSAGE(to_string(done.error()).find("f32 and i64") != std::string::npos,
                  to_string(done.error()));
    CHECK_MESSAGE(to_string(done.error()).find("'of'") != std::string::npos,
                  to_string(done.error()));
    CHECK(print_graph(*graph) == before);
  }
}

TEST_CASE("a lookup in a table of codes is one of what they stand for") {
  const Graph graph = resolved(R"(graph {}
%codes: tensor<2x4xi4> = constant() [1, 2, 3, 4, 5, 6, 7, -8]
%scales: tensor<2x2xf32> = constant() [0.25, 0.5, 1.0, 2.0]
%i: tensor<3xi64> = input()
%y: tensor<3x4xf32> = onnx.com.microsoft::GatherBlockQuantized(%codes, %i, %scales) {block_size = 2}
output(%y)
)");
  CHECK(kinds_of(graph).empty());
  const NodeRef lookup = graph.ref(graph.find_value("y").node);
  CHECK(lookup.kind() == "gather");
  const NodeRef reals = graph.ref(lookup.operand(0).node);
  REQUIRE(reals.kind() == "dequantize");
  const UniformType& type = *reals.operand_type(0)->uniform();
  CHECK(type.granularity == Granularity::per_block(1, 2));
  CHECK_FALSE(type.zero_points);
}

TEST_CASE("bytes of a table hold two codes, around the middle, and rows have one scale") {
  const Graph graph = resolved(R"(graph {}
%codes: tensor<2x1xu8> = constant() [16, 50]
%scales: tensor<2x1xf32> = constant() [0.25, 0.5]
%i: tensor<3xi64> = input()
%y: tensor<3x2xf32> = onnx.com.microsoft::GatherBlockQuantized(%codes, %i, %scales) {block_size = 16}
output(%y)
)");
  const NodeRef reals = graph.ref(graph.ref(graph.find_value("y").node).operand(0).node);
  REQUIRE(reals.kind() == "dequantize");
  const UniformType& type = *reals.operand_type(0)->uniform();
  CHECK(type.granularity == Granularity::per_axis(0));
  CHECK(read_integers(type.zero_points).value() == std::vector<std::int64_t>{8, 8});
  CHECK(read_integers(*reals.operand_constant(0)).value() == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a lookup in computed codes, or with scales of zero, stays") {
  const std::string text = R"(graph {{}}
%codes: tensor<2x4xi4> = {}
%scales: tensor<2x2xf32> = constant() [{}, 0.5, 1.0, 2.0]
%i: tensor<3xi64> = input()
%y: tensor<3x4xf32> = onnx.com.microsoft::GatherBlockQuantized(%codes, %i, %scales) {{block_size = 2}}
output(%y)
)";
  const std::vector<std::string> stays{"onnx.com.microsoft::GatherBlockQuantized"};
  CHECK(kinds_of(resolved(fmt::format(fmt::runtime(text), "input()", 0.25))) == stays);
  CHECK(kinds_of(resolved(fmt::format(fmt::runtime(text), "constant() [1, 2, 3, 4, 5, 6, 7, -8]",
                                      0.0))) == stays);
}
