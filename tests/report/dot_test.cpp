#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "methods/weight_only/build.hpp"
#include "quadrant/report/tables.hpp"

using namespace quadrant;

TEST_CASE("a plan is drawn: states as colours, constants without a part left out") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, "w \"quoted\"", {30, 20});
  const Value bias = build::weight(graph, "bias", {30});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
  const Value m = build::node(graph, ops::MatMul::kind, "m", {x, t});
  graph.add_output("y", build::node(graph, "onnx.Add", "sum", {m, bias}));
  REQUIRE(infer_shapes(graph).has_value());
  const Registry registry = *weight_only_registry();
  const auto analysis = analyze(graph, registry);
  REQUIRE(analysis.has_value());
  const std::string dot = print_dot(graph, *analysis);
  const auto contains = [&](std::string_view text) { return dot.find(text) != std::string::npos; };
  CHECK(dot.starts_with("digraph"));
  CHECK(contains("label=\"constant w \\\"quoted\\\" [axis=0]\", fillcolor=palegreen"));
  CHECK(contains("label=\"transpose t [axis=1]\", fillcolor=palegreen"));
  CHECK(contains("label=\"matmul m\", fillcolor=lightblue"));
  CHECK_FALSE(contains("bias"));
  // Edges: w -> t and t -> m are bold; x -> m, m -> sum, sum -> y are not.
  const auto count = [&](std::string_view text) {
    int found = 0;
    for (auto at = dot.find(text); at != std::string::npos; at = dot.find(text, at + 1)) ++found;
    return found;
  };
  CHECK(count("->") == 5);
  CHECK(count("style=bold") == 2);
  // 600 floats become codes; a scale and a zero point for each of 30 rows.
  CHECK(count("style=bold, label=\"1650\"") == 1);
}
