// Where the nodes of a graph with bodies are placed.
#include "ir/regions.hpp"

#include <doctest/doctest.h>

#include "model_text.hpp"

namespace quadrant::test {
namespace {

// An If whose first branch holds another one; `%scale` is of the model, `%made` says nothing.
Graph nested(const std::string& more = {}) {
  return value_of(parse_graph(R"(graph {}
%c: tensor<i1> = input()
%x: tensor<2xf32> = input()
%scale: tensor<2xf32> = constant() [2, 2] {"onnx.region" = ""}
%w: tensor<2xf32> = constant() [1, 2] {"onnx.region" = "if/then_branch"}
%a: tensor<2xf32> = multiply(%x, %w) {"onnx.region" = "if/then_branch"}
%deep: tensor<2xf32> = add(%a, %w) {"onnx.region" = "if/then_branch/in/then_branch"}
%b: tensor<2xf32> = onnx.If(%c, %deep, %a) {"onnx.region" = "if/then_branch", then_branch = "if/then_branch/in/then_branch", else_branch = "if/then_branch/in/else_branch", "onnx.yields" = [1, 1]}
%made: tensor<2xf32> = multiply(%w, %scale)
%y: tensor<2xf32> = onnx.If(%c, %b, %x) {then_branch = "if/then_branch", else_branch = "if/else_branch", "onnx.yields" = [1, 1]}
output(%y)
)" + more));
}

std::string place_of(const Graph& graph, const Regions& regions, std::string_view value) {
  return regions[regions.of(graph.find_value(value).node)].path;
}

void check_refused(const std::string& more, std::string_view message, std::string_view node) {
  const auto found = Regions::find(nested(more));
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::invalid_model);
  CHECK(found.error().message.find(message) != std::string::npos);
  CHECK(found.error().place.node == node);
}

TEST_CASE("nodes are where they say, and else as far out as their operands allow") {
  const Graph graph = nested();
  const Regions regions = value_of(Regions::find(graph));
  CHECK(regions.all().size() == 5);
  CHECK(place_of(graph, regions, "x").empty());
  CHECK(place_of(graph, regions, "w") == "if/then_branch");
  CHECK(place_of(graph, regions, "made") == "if/then_branch");
  CHECK(place_of(graph, regions, "deep") == "if/then_branch/in/then_branch");
  CHECK(place_of(graph, regions, "y").empty());
  const NodeId outer = graph.find_value("y").node;
  const NodeId inner = graph.find_value("b").node;
  REQUIRE(regions.bodies(outer).size() == 2);
  REQUIRE(regions.bodies(inner).size() == 2);
  CHECK(regions.own_operands(graph, outer) == 1);
  CHECK(regions.own_operands(graph, graph.find_value("made").node) == 2);
  const std::uint32_t then_branch = regions.bodies(outer)[0];
  const std::uint32_t deep = regions.bodies(inner)[0];
  CHECK(regions[deep].outer == then_branch);
  CHECK(regions[deep].depth == 2);
  CHECK(regions.sees(deep, then_branch));
  CHECK(regions.sees(deep, Regions::model));
  CHECK_FALSE(regions.sees(then_branch, deep));
  CHECK_FALSE(regions.sees(deep, regions.bodies(outer)[1]));
}

TEST_CASE("what only a branch reads is in it, but what a loop reads is made in front of it") {
  const Graph graph = nested(R"(%free: tensor<2xf32> = constant() [3, 4]
%before: tensor<2xf32> = onnx.Neg(%free)
%kept: tensor<2xf32> = onnx.Neg(%scale)
%u: tensor<2xf32> = add(%before, %kept) {"onnx.region" = "late/else_branch"}
%p: tensor<2xf32> = onnx.Neg(%free)
%t: tensor<i64> = onnx.region_input() {"onnx.region" = "late/then_branch/loop/body"}
%v: tensor<2xf32> = add(%p, %p) {"onnx.region" = "late/then_branch/loop/body"}
%l: tensor<2xf32> = onnx.Loop(_, _, %c, %v) {"onnx.region" = "late/then_branch", body = "late/then_branch/loop/body", "onnx.yields" = [2]}
%z: tensor<2xf32> = onnx.If(%c, %l, %u) {then_branch = "late/then_branch", else_branch = "late/else_branch", "onnx.yields" = [1, 1]}
)");
  const Regions regions = value_of(Regions::find(graph));
  CHECK(place_of(graph, regions, "before") == "late/else_branch");
  CHECK(place_of(graph, regions, "p") == "late/then_branch");
  CHECK(place_of(graph, regions, "free").empty());
  CHECK(place_of(graph, regions, "kept").empty());
}

TEST_CASE("the nodes of a body whose operation is gone are nowhere") {
  Graph graph = nested();
  const NodeId inner = graph.find_value("b").node;
  graph.set_operand(graph.find_value("y").node, 1, graph.find_value("x"));
  graph.erase(inner);
  const Regions regions = value_of(Regions::find(graph));
  CHECK(regions.of(graph.find_value("deep").node) == Regions::nowhere);
}

TEST_CASE("what cannot be is refused, with the node") {
  check_refused("%z: tensor<2xf32> = onnx.Neg(%deep) {\"onnx.region\" = \"if/else_branch\"}\n",
                "it reads 'deep' out of a body", "z");
  check_refused("output(%a) {name = \"inside\"}\n", "it reads 'a' out of a body", "inside");
  const std::string owner = "%z: tensor<2xf32> = onnx.If(%c, %x, %x) {then_branch = ";
  check_refused(owner + "\"if/then_branch\", else_branch = \"e\", \"onnx.yields\" = [1, 1]}\n",
                "its body 'then_branch' has no name of its own", "z");
  check_refused(owner + "\"t\", else_branch = \"e\", \"onnx.yields\" = [1, 5]}\n",
                "not as many operands as its bodies yield", "z");
  check_refused(owner + "\"t\", else_branch = \"e\", \"onnx.yields\" = [1]}\n",
                "its bodies are not those of its kind", "z");
  check_refused(
      owner + "\"t\", else_branch = \"e\", \"onnx.yields\" = [1, 1], \"onnx.region\" = \"t\"}\n",
      "bodies are nested deeper than 64", "z");
  const std::string given = "%g: tensor<2xf32> = onnx.region_input() {\"onnx.region\" = ";
  check_refused(given + "\"if/then_branch\"}\n", "lies in none that is given anything", "g");
  check_refused(given + "\"\"}\n", "lies in none that is given anything", "g");
}

TEST_CASE("what a body is given is refused in a model without bodies") {
  const Graph graph = value_of(parse_graph(R"(graph {}
%g: tensor<2xf32> = onnx.region_input()
output(%g)
)"));
  CHECK_FALSE(Regions::find(graph));
}

}  // namespace
}  // namespace quadrant::test
