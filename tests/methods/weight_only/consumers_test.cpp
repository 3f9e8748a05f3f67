// What matmul, gemm and conv ask for: the axis that their sum does not run over.
#include "methods/weight_only/build.hpp"

using namespace quadrant;

TEST_CASE("matmul asks for the columns of B and the rows of A") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 4});
  const Value b = build::weight(graph, "b", {4, 3});
  const Value a = build::weight(graph, "a", {5, 2});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, b}));
  graph.add_output("z", build::node(graph, ops::MatMul::kind, "n", {a, x}));
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "b") == "axis=1");
  CHECK(build::planned(result, "a") == "axis=0");
}

TEST_CASE("batched matmul shares the scales of the kept axis among the batch") {
  Graph graph;
  const Value x = build::input(graph, "x", {7, 2, 4});
  const Value b = build::weight(graph, "b", {7, 4, 3});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, b}));
  CHECK(build::planned(build::quantize(graph), "b") == "axis=2");
}

TEST_CASE("a one-dimensional operand has the contracted axis alone and stays float") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 4});
  const Value b = build::weight(graph, "b", {4});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, b}));
  CHECK(build::planned(build::quantize(graph), "b") == "float");
}

TEST_CASE("one weight on both sides never gets the contracted axis of the side that it serves") {
  Graph graph;
  const Value w = build::weight(graph, "w", {16, 16});
  const Value m = build::node(graph, ops::MatMul::kind, "m", {w, w});
  graph.add_output("y", m);
  const auto result = build::quantize(graph);
  // Equal gains: the smaller axis. Both sides read one shared float form, so both are right.
  CHECK(build::planned(result, "w") == "axis=0");
  const auto operands = result.graph.operands(result.graph.find_value("m").node);
  CHECK(operands[0] == operands[1]);
  CHECK_FALSE(result.graph.type(operands[0]).is_quantized());
}

TEST_CASE("gemm follows its transposes") {
  for (const std::int64_t trans_b : {0, 1}) {
    Graph graph;
    const Value x = build::input(graph, "x", {2, 20});
    const Value b = build::weight(
        graph, "b",
        trans_b != 0 ? std::vector<std::int64_t>{30, 20} : std::vector<std::int64_t>{20, 30});
    const Value c = build::weight(graph, "c", {30});
    graph.add_output("y",
                     build::node(graph, ops::Gemm::kind, "g", {x, b, c}, {{"transB", trans_b}}));
    const auto result = build::quantize(graph);
    CHECK(build::planned(result, "b") == (trans_b != 0 ? "axis=0" : "axis=1"));
    CHECK(build::planned(result, "c") == "float");
  }
  for (const std::int64_t trans_a : {0, 1}) {
    Graph graph;
    const Value a = build::weight(graph, "a", {20, 20});
    const Value x = build::input(graph, "x", {20, 2});
    graph.add_output("y", build::node(graph, ops::Gemm::kind, "g", {a, x}, {{"transA", trans_a}}));
    CHECK(build::planned(build::quantize(graph), "a") == (trans_a != 0 ? "axis=1" : "axis=0"));
  }
}

TEST_CASE("conv asks for the output channels, with and without a bias, also depthwise") {
  Graph graph;
  const Value x = build::input(graph, "x", {1, 8, 10, 10});
  const Value w = build::weight(graph, "w", {6, 8, 3, 3});
  const Value d = build::weight(graph, "d", {6, 1, 3, 3});
  const Value bias = build::weight(graph, "bias", {6});
  const Value c = build::node(graph, ops::Conv::kind, "c", {x, w, bias});
  const Value e =
      build::node(graph, ops::Conv::kind, "e", {c, d, Value{}}, {{"group", std::int64_t{6}}});
  graph.add_output("y", e);
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=0");
  CHECK(build::planned(result, "d") == "axis=0");
  CHECK(build::planned(result, "bias") == "float");
}
