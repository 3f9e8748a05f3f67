#include <doctest/doctest.h>

#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Graph graph_of_text(const std::string& text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  return *std::move(graph);
}

}  // namespace

TEST_CASE("codes at the borders become real values") {
  Graph graph = graph_of_text(
      "%x: tensor<2x!quant.uniform<u8:f32, 0.5:128>> = input()\n"
      "%t: tensor<2x!quant.uniform<u8:f32, 0.5:128>> = identity(%x)\n"
      "output(%t)\n"
      "output(%x)\n");
  CHECK(has_coded_borders(graph));
  make_borders_real(graph);
  CHECK_FALSE(has_coded_borders(graph));
  CHECK(verify(graph));
  const Value input{graph.inputs().front()};
  CHECK(graph.value_name(input) == "x");
  CHECK(graph.type(input).element == ElementType::float32);
  REQUIRE(graph.uses(input.node).size() == 1);
  CHECK(graph.kind(graph.uses(input.node)[0].user) == "quantize");
  for (const NodeId output : graph.outputs()) {
    const Value real = graph.operands(output)[0];
    CHECK(graph.kind(real.node) == "dequantize");
    CHECK_FALSE(graph.type(real).is_quantized());
  }
}

TEST_CASE("real values at the borders stay") {
  const std::string text =
      "%x: tensor<2xf32> = input()\n"
      "%q: tensor<2x!quant.uniform<u8:f32, 0.5:128>> = quantize(%x)\n"
      "%y: tensor<2xf32> = dequantize(%q)\n"
      "output(%y)\n";
  Graph graph = graph_of_text(text);
  const std::string before = print_graph(graph);
  CHECK_FALSE(has_coded_borders(graph));
  make_borders_real(graph);
  CHECK(print_graph(graph) == before);
}

TEST_CASE("real borders become codes where they are quantized and dequantized at once") {
  Graph graph = graph_of_text(
      "%x: tensor<2xf32> = input()\n"
      "%z: tensor<2xf32> = input()\n"
      "%q: tensor<2x!quant.uniform<u8:f32, 0.5:128>> = quantize(%x)\n"
      "%p: tensor<2x!quant.uniform<u8:f32, 0.5:128>> = quantize(%x)\n"
      "%y: tensor<2xf32> = dequantize(%q)\n"
      "%n: tensor<2xf32> = identity(%y)\n"
      "%a: tensor<2xf32> = add(%z, %z)\n"
      "output(%n)\n"
      "output(%p)\n"
      "output(%a)\n");
  // The two `quantize` have constants of their own: only the first reader's are looked at as one.
  graph.set_type(graph.find_value("p"), graph.type(graph.find_value("q")));
  const std::vector<LeftAlone> left = make_borders_coded(graph);
  CHECK(verify(graph));
  CHECK(graph.type(graph.find_value("x")).is_quantized());
  CHECK(graph.operands(graph.outputs()[0])[0] == graph.find_value("x"));
  CHECK(graph.operands(graph.outputs()[1])[0] == graph.find_value("x"));
  REQUIRE(left.size() == 2);
  CHECK(left[0] == LeftAlone{"z", "not all that reads it quantizes it alike"});
  CHECK(left[1].reason == "no dequantize makes it");
}
