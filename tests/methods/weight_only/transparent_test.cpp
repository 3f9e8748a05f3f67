#include "methods/weight_only/build.hpp"
#include "quadrant/numerics/convert.hpp"

using namespace quadrant;

TEST_CASE("the axis is carried through transpose, reshape and identity, and the codes move alike") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 8});
  const Value w = build::weight(graph, "w", {3, 4, 2, 30});
  const Value i = build::node(graph, ops::Identity::kind, "i", {w});
  // [3, 4, 2, 30] -> [24, 30] -> [30, 24] -> matmul over 24
  const Value r = build::reshape(graph, "r", i, {24, 30});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {r});
  const Value y = build::input(graph, "y", {5, 30});
  graph.add_output("out", build::node(graph, ops::MatMul::kind, "m", {y, t}));
  (void)x;
  const auto result = build::quantize(graph);
  // Columns of t are rows of r, which the reshape makes of three axes: refused, so w stays float.
  CHECK(build::planned(result, "w") == "float");
}

TEST_CASE("types follow the axis") {
  Graph graph;
  const Value w = build::weight(graph, "w", {3, 4, 2, 30});
  const Value r = build::reshape(graph, "r", w, {24, 30});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {r});
  const Value x = build::input(graph, "x", {24, 5});
  graph.add_output("out", build::node(graph, ops::MatMul::kind, "m", {t, x}));
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=3");
  CHECK(build::planned(result, "r") == "axis=1");
  CHECK(build::planned(result, "t") == "axis=0");
  // One dequantize, after the last transparent operation; it has the name of the float value.
  const Graph& g = result.graph;
  const NodeId dequantize = g.find_value("t").node;
  CHECK(g.kind(dequantize) == ops::Dequantize::kind);
  const auto at_w = g.type(g.find_value("w")).quantization;
  const auto at_t = g.type(g.operands(dequantize)[0]).quantization;
  REQUIRE(at_w != nullptr);
  REQUIRE(at_t != nullptr);
  CHECK(at_w->granularity == Granularity::per_axis(3));
  CHECK(at_t->granularity == Granularity::per_axis(0));
  CHECK(at_w->scales == at_t->scales);  // the same numbers, not a copy
}

TEST_CASE("an unknown operation in between keeps the weight float, and says so") {
  Graph graph;
  const Value w = build::weight(graph, "w", {40, 30});
  const Value u = build::node(graph, "onnx.Relu", "u", {w});
  const Value x = build::input(graph, "x", {2, 40});
  graph.add_output("out", build::node(graph, ops::MatMul::kind, "m", {x, u}));
  CHECK(build::planned(build::quantize(graph), "w") == "float");
}
