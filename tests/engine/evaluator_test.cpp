// The evaluator is what other tests lean on, so: does it notice?
#include "engine/evaluator.hpp"

#include <doctest/doctest.h>

#include "ir/build.hpp"

using namespace quadrant;
using build::f32;
using evaluator::evaluate;
using evaluator::Evaluation;

namespace {

// y = sub(quantize(a), quantize(b)), in codes or in floats, with the operands in either order.
struct Variant {
  bool in_codes = false;
  bool swapped = false;
  std::string name = "s";
};

Graph subtraction(const Variant& variant) {
  Graph graph;
  const TensorType codes = build::quantized({2}, build::uniform({0.5F}));
  const TensorType type = variant.in_codes ? codes : f32({2});
  std::vector<Value> operands{graph.add_input("a", f32({2})), graph.add_input("b", f32({2}))};
  if (variant.in_codes) {
    for (Value& operand : operands) operand = build::add(graph, "quantize", {operand}, codes);
  }
  if (variant.swapped) std::swap(operands[0], operands[1]);
  Value result{graph.add(
      {.kind = "sub", .name = variant.name, .operands = operands, .results = {{"r", type}}})};
  if (variant.in_codes) result = build::add(graph, "dequantize", {result}, f32({2}));
  graph.add_output("y", result);
  return graph;
}

}  // namespace

TEST_CASE("conversions keep the numbers; order, name and operands count") {
  const Evaluation plain = evaluate(subtraction({}));
  CHECK(plain.mistakes.empty());
  CHECK(plain.outputs.size() == 1);
  const Evaluation quantized = evaluate(subtraction({.in_codes = true}));
  CHECK(quantized.mistakes.empty());
  CHECK(quantized.outputs == plain.outputs);
  CHECK(evaluate(subtraction({.swapped = true})).outputs != plain.outputs);
  CHECK(evaluate(subtraction({.name = "t"})).outputs != plain.outputs);
}

TEST_CASE("codes where floats are wanted are named, and so are floats where codes are") {
  Graph graph = subtraction({.in_codes = true});
  const Value codes = graph.find_value("r");
  const NodeId output = graph.outputs()[0];
  const NodeId dequantize = graph.operands(output)[0].node;
  graph.set_operand(output, 0, codes);
  graph.set_operand(codes.node, 1, graph.find_value("b"));
  graph.set_operand(dequantize, 0, graph.find_value("a"));
  CHECK(evaluate(graph).mistakes.size() == 3);
  CHECK(evaluate(graph, [](NodeRef, std::uint32_t) { return true; }).mistakes.size() == 2);
}
