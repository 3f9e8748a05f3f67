// What is added to a graph. That it computes the same is shown in tests/peers.
#include "numerics/elementary_fake_quantize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

struct Added {
  Graph graph;
  Expected<std::vector<NodeId>> nodes;

  [[nodiscard]] std::vector<std::string> kinds() const {
    std::vector<std::string> kinds;
    for (const NodeId node : nodes.value()) kinds.emplace_back(graph.kind(node));
    return kinds;
  }
};

Added added(const std::string& x, const std::string& bound, const std::string& attributes) {
  const auto graph = parse_graph(
      "%x: tensor<" + x + "> = input()\n%b: tensor<" + bound + "> = input()\n%y: tensor<" + x +
      "> = fake_quantize(%x, %b, %b, %b, %b) {" + attributes + "}\noutput(%y)\n");
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  Added made{*graph, {}};
  made.nodes = add_elementary_fake_quantize(made.graph, made.graph.find_value("y").node);
  return made;
}

using Kinds = std::vector<std::string>;

std::string refusal(const Added& made) {
  REQUIRE_FALSE(made.nodes);
  CHECK(made.nodes.error().code == ErrorCode::impossible);
  return made.nodes.error().message;
}

}  // namespace

TEST_CASE("operators in the order of the definition; the node stays") {
  const Added made = added("2x3xf32", "f32", "levels = 5");
  CHECK(made.kinds() == Kinds{"onnx.Sub", "onnx.Sub", "onnx.Sub", "onnx.Div", "multiply",
                              "onnx.Round", "onnx.Div", "multiply", "add", "onnx.Max",
                              "onnx.Greater", "onnx.Where", "onnx.Min", "onnx.LessOrEqual",
                              "onnx.Where"});
  const Value last{made.nodes->back()};
  CHECK(made.graph.type(last) == made.graph.type(made.graph.find_value("y")));
  CHECK(made.graph.value_name(last).starts_with("y_"));
  CHECK(made.graph.kind(made.graph.outputs()[0]) == "output");
  CHECK(made.graph.operands(made.graph.outputs()[0])[0] == made.graph.find_value("y"));
}

TEST_CASE("half floats are computed in float32, float64 in float64") {
  const Kinds half = added("2x3xf16", "f16", "levels = 5").kinds();
  CHECK(std::ranges::count(half, "cast") == 6);
  CHECK(half.back() == "cast");
  CHECK(std::ranges::count(added("2x3xf64", "f64", "levels = 5").kinds(), "cast") == 0);
}

TEST_CASE("bounds that do not go with X by numpy's rules are reshaped") {
  const Kinds kinds = added("2x3xf32", "2xf32", R"(auto_broadcast = "pdpd", levels = 5)").kinds();
  CHECK(std::ranges::count(kinds, "reshape") == 4);
  CHECK(std::ranges::count(added("3xf32", "1x1x3xf32", "levels = 5").kinds(), "reshape") == 4);
  CHECK(std::ranges::count(added("2x3xf32", "3xf32", "levels = 5").kinds(), "reshape") == 0);
}

TEST_CASE("what it cannot be is said") {
  CHECK(refusal(added("2x3xf32", "f32", "levels = 1")).find("levels") != std::string::npos);
  CHECK(refusal(added("2x3xi32", "i32", "levels = 5")) ==
        "a fake_quantize of elements of type i32");
  CHECK(refusal(added("*xf32", "2xf32", R"(auto_broadcast = "pdpd", levels = 5)")) ==
        "bounds of a shape that is not known");
}
