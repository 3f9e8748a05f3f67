#include <fmt/format.h>

#include "model_text.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

Graph open_model() {
  auto graph = parse_graph(R"(
graph {}
%x: tensor<?x6xf32> = input()
%rows: tensor<?x3xf32> = input()
%shape: tensor<2xi64> = constant() [-1, 3]
%y: tensor<?x?xf32> = reshape(%x, %shape)
%z: tensor<?x3xf32> = add(%y, %rows)
output(%z)
)");
  REQUIRE(graph);
  return *std::move(graph);
}

Shape shape_of(const Graph& graph, std::string_view name) {
  return graph.type(graph.find_value(name)).shape;
}

}  // namespace

TEST_CASE("what follows from the shapes of inputs is known") {
  Graph graph = open_model();
  REQUIRE(fix_shapes(graph, {{"x", Shape{2, 6}}}));
  CHECK(shape_of(graph, "x") == Shape{2, 6});
  CHECK(shape_of(graph, "y") == Shape{4, 3});
  // Either of the operands may be the one that repeats.
  REQUIRE(fix_shapes(graph, {{"rows", Shape{4, 3}}}));
  CHECK(shape_of(graph, "z") == Shape{4, 3});
}

TEST_CASE("nothing asked for is nothing done") {
  Graph graph = open_model();
  REQUIRE(fix_shapes(graph, {}));
  CHECK_FALSE(shape_of(graph, "y").is_static());
}

TEST_CASE("what cannot be is said") {
  Graph graph = open_model();
  const auto unknown = fix_shapes(graph, {{"image", Shape{2, 6}}});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::usage);
  CHECK(unknown.error().message.find("it has x, rows") != std::string::npos);
  const auto other = fix_shapes(graph, {{"x", Shape{2, 5}}});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == ErrorCode::usage);
  CHECK(other.error().place.tensor == "x");
  const auto rank = fix_shapes(graph, {{"x", Shape{12}}});
  CHECK_FALSE(rank);
  // 2x3 rows and 4x3 results.
  const auto contradiction = fix_shapes(graph, {{"x", Shape{2, 6}}, {"rows", Shape{2, 3}}});
  REQUIRE_FALSE(contradiction);
  CHECK(contradiction.error().code == ErrorCode::invalid_model);
}

TEST_CASE(
    "in a body that is run, what cannot be is said; in a branch it may be what is not taken") {
  const auto in_body = [](std::string_view owner, std::string_view body) {
    const std::string place = fmt::format(" {{\"onnx.region\" = \"{}\"}}\n", body);
    auto graph = parse_graph(
        "graph {}\n%x: tensor<2x?xf32> = input()\n%c: tensor<i1> = input()\n"
        "%on: tensor<i1> = identity(%c)" +
        place + "%w: tensor<4x3xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]" + place +
        "%p: tensor<2x3xf32> = matmul(%x, %w)" + place + std::string(owner) + "output(%y)\n");
    REQUIRE_MESSAGE(graph, graph.error().message);
    return *std::move(graph);
  };
  Graph loop = in_body(
      "%y: tensor<?x2x3xf32> = onnx.Loop(_, %c, %on, %p) {body = \"l/body\", \"onnx.yields\" = "
      "[2]}\n",
      "l/body");
  const auto refused = fix_shapes(loop, {{"x", Shape{2, 9}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_model);
  CHECK(refused.error().place.node == "p");
  Graph branch = in_body(
      "%z: tensor<2x3xf32> = onnx.Other(%x) {\"onnx.region\" = \"e\"}\n"
      "%y: tensor<2x3xf32> = onnx.If(%c, %p, %z) {then_branch = \"t\", else_branch = \"e\", "
      "\"onnx.yields\" = [1, 1]}\n",
      "t");
  CHECK(fix_shapes(branch, {{"x", Shape{2, 9}}}));
}
