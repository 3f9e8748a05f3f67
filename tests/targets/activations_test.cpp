#include <doctest/doctest.h>

#include "models.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/targets/runtime_profile.hpp"

using namespace quadrant;

namespace {

ActivationCount count(const Graph& graph) {
  const auto order = topological_order(graph);
  REQUIRE(order);
  return count_activations(graph, *order);
}

Value add(Graph& graph, std::string kind, std::vector<Value> operands) {
  return build::add(graph, std::move(kind), std::move(operands), build::f32({1, 4}));
}

}  // namespace

TEST_CASE("in a float model none is quantized") {
  // x, h, r and z; weights are none.
  CHECK(count(models::floating()) == ActivationCount{4, 0, 0, "x"});
}

TEST_CASE("in a quantized model all are, a Relu with the operation before it") {
  CHECK(count(models::quantized()) == ActivationCount{4, 4, 0, ""});
}

TEST_CASE("one reader that computes with the floats is enough") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  graph.add_output("y", models::requantized(graph, x));
  CHECK(count(graph) == ActivationCount{1, 1, 0, ""});
  graph.add_output("z", add(graph, "onnx.Relu", {x}));
  CHECK(count(graph).quantized == 0);
  CHECK(count(graph).first_unquantized == "x");
}

TEST_CASE("scales survive what hands on values, in both directions") {
  for (const char* kind : {"transpose", "reshape", "onnx.MaxPool", "identity"}) {
    Graph graph;
    const Value x = models::requantized(graph, graph.add_input("x", build::f32({1, 4})));
    const Value moved = add(graph, kind, {x});
    const Value computed = add(graph, "onnx.Exp", {moved});
    graph.add_output("y", models::requantized(graph, add(graph, kind, {computed})));
    CHECK(count(graph) == ActivationCount{4, 4, 0, ""});
  }
  Graph graph;
  const Value x = models::requantized(graph, graph.add_input("x", build::f32({1, 4})));
  const Value between = add(graph, "onnx.Exp", {x});
  graph.add_output("y", models::requantized(graph, add(graph, "onnx.Exp", {between})));
  const ActivationCount counted = count(graph);
  CHECK(counted.count == 3);
  CHECK(counted.quantized == 2);
  CHECK(counted.first_unquantized == graph.value_name(between));
}

TEST_CASE("a Relu at an input has nothing to be computed with") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  graph.add_output("y", models::requantized(graph, add(graph, "onnx.Relu", {x})));
  CHECK(count(graph) == ActivationCount{2, 1, 0, "x"});
}

TEST_CASE("integers and what is made of shapes are no activations") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  graph.add_input("ids", build::tensor(ElementType::int64, {1, 4}));
  const Value shape = build::add(graph, "onnx.Shape", {x});
  const Value two = graph.add_constant("two", build::integers({2}));
  const Value doubled = build::add(graph, "multiply", {shape, two});
  graph.add_output("y", build::add(graph, "reshape", {x, doubled}, build::f32({2, 2})));
  CHECK(count(graph).count == 2);
  // Of one that computes with reals, nobody knows.
  graph.add_output("z", build::add(graph, "onnx.Exp", {x}));
  CHECK(count(graph).count == 3);
  CHECK(count(graph).unknown_type == 1);
}

TEST_CASE("what is made of constants alone, or read by nobody, is none") {
  Graph graph;
  const Value w = models::coded_weight(graph, "w", ElementType::int8, {1, 4});
  add(graph, "onnx.Exp", {w});
  graph.add_output("y", add(graph, "transpose", {w}));
  add(graph, "onnx.Exp", {graph.add_input("x", build::f32({1, 4}))});
  CHECK(count(graph) == ActivationCount{1, 0, 0, "x"});
  // Random numbers are drawn at each run.
  graph.add_output("r", add(graph, "onnx.RandomNormal", {}));
  CHECK(count(graph).count == 2);
}

TEST_CASE("operators on codes, and quantizers that stayed ONNX's") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value s = graph.add_constant("s", build::floats(Shape::scalar(), {0.5F}));
  const TensorType codes = build::tensor(ElementType::uint8, {1, 4});
  const Value q = build::add(graph, "onnx.QuantizeLinear", {x, s}, codes);
  const Value c = build::add(graph, "onnx.QLinearConv", {q, s}, codes);
  graph.add_output("y", add(graph, "onnx.DequantizeLinear", {c, s}));
  CHECK(count(graph) == ActivationCount{2, 2, 0, ""});
}
