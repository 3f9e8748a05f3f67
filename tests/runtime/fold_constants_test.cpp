#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model_text.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::test {
namespace {

TEST_CASE("operations on constants alone become constants, in a chain, too") {
  Graph graph = parsed(
      "graph {}\n%x: tensor<3x2xf32> = input()\n%w: tensor<2x3xf32> = constant() [1, 2, 3, 4, 5, "
      "6]\n"
      "%two: tensor<f32> = constant() [2]\n%t: tensor<3x2xf32> = transpose(%w)\n"
      "%d: tensor<3x2xf32> = multiply(%t, %two)\n%y: tensor<3x2xf32> = add(%x, %d)\n"
      "%z: tensor<3x2xf32> = multiply(%y, %two)\noutput(%z)\noutput(%d)\n");
  const auto done = value_of(fold_constants(graph));
  CHECK(done.folded == 2);
  CHECK(done.left.empty());
  REQUIRE(verify(graph));
  CHECK(operations_of(graph) == std::vector<std::string>{"add", "multiply"});
  const Value d = graph.find_value("d");
  REQUIRE(graph.constant(d.node) != nullptr);
  CHECK(value_of(read_reals(*graph.constant(d.node))) == std::vector<double>{2, 8, 4, 10, 6, 12});
  CHECK(graph.find_value("w").is_absent());
}

TEST_CASE("operations that are not asked for stay") {
  Graph graph = parsed(
      "graph {}\n%w: tensor<2x3xf32> = constant() [1, 2, 3, 4, 5, 6]\n"
      "%d: tensor<2x3xf32> = add(%w, %w)\n%t: tensor<3x2xf32> = transpose(%d)\noutput(%t)\n");
  const auto is_sum = [](NodeRef node) { return node.kind() == ops::Add::kind; };
  CHECK(value_of(fold_constants(graph, is_sum)).folded == 1);
  CHECK(operations_of(graph) == std::vector<std::string>{"transpose"});
}

TEST_CASE("what says how to quantize stays, with the bounds that it is given computed") {
  Graph graph = parsed(
      "graph {}\n%w: tensor<4xf32> = constant() [1, 2, 3, 4]\n%a: tensor<f32> = constant() [-2]\n"
      "%b: tensor<f32> = constant() [2]\n%low: tensor<f32> = multiply(%a, %b)\n"
      "%high: tensor<f32> = add(%b, %b)\n%q: tensor<4xf32> = fake_quant(%w, %low, %high)\n"
      "%c: tensor<4xf32> = const_fake_quant(%w) {min = 0.0, max = 1.0}\n"
      "%s: tensor<4xf32> = stats(%w) {layer_stats = [1.0, 4.0]}\n"
      "%i: tensor<4x!quant.uniform<i8:f32, 0.5>> = quantize(%w)\n"
      "%r: tensor<4xf32> = dequantize(%i)\noutput(%q)\noutput(%c)\noutput(%s)\noutput(%r)\n");
  CHECK(value_of(fold_constants(graph)).folded == 2);
  CHECK(graph.constant(graph.find_value("low").node) != nullptr);
  for (const std::string name : {"q", "c", "s", "i", "r"}) {
    CAPTURE(name);
    CHECK(graph.constant(graph.find_value(name).node) == nullptr);
  }
}

TEST_CASE(
    "what would be much larger than its operands stays, and so does what cannot be computed") {
  Graph graph = parsed(
      "graph {}\n%one: tensor<1xf32> = constant() [1]\n%n: tensor<1xi64> = constant() [100000000]\n"
      "%big: tensor<100000000xf32> = expand(%one, %n)\n%i: tensor<1xi64> = constant() [7]\n"
      "%bad: tensor<1xf32> = gather(%one, %i)\noutput(%big)\noutput(%bad)\n");
  const auto done = value_of(fold_constants(graph));
  CHECK(done.folded == 0);
  REQUIRE(done.left.size() == 2);
  CHECK(done.left[0] == LeftAlone{"big", "its result may be much larger than its operands"});
  CHECK(done.left[1].name == "bad");
  CHECK(operations_of(graph).size() == 2);
}

}  // namespace
}  // namespace quadrant::test
