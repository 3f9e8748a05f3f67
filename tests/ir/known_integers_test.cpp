#include "ir/known_integers.hpp"

#include <doctest/doctest.h>

#include "build.hpp"
#include "ir/shape_inference.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Graph inferred(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  const auto done = infer_shapes(*graph);
  REQUIRE_MESSAGE(done, (done ? "" : to_string(done.error())), text);
  return *std::move(graph);
}

// `2 ? 7`: those of %y, `none` where nothing is known.
std::string known(std::string_view text) {
  const Graph graph = inferred(text);
  const auto found = detail::known_integers(graph, graph.find_value("y"));
  if (!found) return "none";
  std::string all;
  for (const auto& each : *found) {
    all += (all.empty() ? "" : " ") + (each ? std::to_string(*each) : "?");
  }
  return all;
}

// Of the shape of an image 2x3x?x7, called %s.
std::string of_shape(std::string_view rest) {
  return "%x: tensor<2x3x?x7xf32> = input()\n"
         "%s: tensor<*xundefined> = onnx.Shape(%x)\n"
         "%one: tensor<1xi64> = constant() [1]\n"
         "%two: tensor<1xi64> = constant() [2]\n"
         "%four: tensor<1xi64> = constant() [4]\n" +
         std::string(rest);
}

std::string shape_of_y(std::string_view text) {
  const Graph graph = inferred(text);
  return to_string(graph.type(graph.find_value("y")).shape);
}

}  // namespace

TEST_CASE("extents, and what is computed from them") {
  CHECK(known(of_shape("%y: tensor<*xundefined> = identity(%s)")) == "2 3 ? 7");
  CHECK(known(of_shape("%y: tensor<*xundefined> = onnx.Shape(%x) {start = -3, end = 2}")) == "3");
  CHECK(known(of_shape("%y: tensor<*xundefined> = slice(%s, %one, %four)")) == "3 ? 7");
  CHECK(known(of_shape("%y: tensor<*xundefined> = gather(%s, %one)")) == "3");
  CHECK(known(of_shape("%g: tensor<*xundefined> = gather(%s, %two)\n"
                       "%y: tensor<*xundefined> = concat(%g, %one) {axis = 0}")) == "? 1");
  CHECK(known(of_shape("%y: tensor<*xundefined> = multiply(%s, %two)")) == "4 6 ? 14");
  CHECK(known(of_shape("%y: tensor<*xundefined> = onnx.Div(%s, %two)")) == "1 1 ? 3");
  CHECK(known(of_shape("%y: tensor<*xundefined> = onnx.Mod(%s, %two)")) == "0 1 ? 1");
  CHECK(known(of_shape("%y: tensor<*xundefined> = onnx.Sub(%one, %s)")) == "-1 -2 ? -6");
}

TEST_CASE("factors that are no integers") {
  const std::string factors =
      "%f: tensor<*xundefined> = cast(%s) {to = 1}\n"
      "%factor: tensor<1xf32> = constant() [1.5]\n"
      "%m: tensor<*xundefined> = multiply(%f, %factor)\n";
  CHECK(known(of_shape(factors + "%r: tensor<*xundefined> = onnx.Floor(%m)\n"
                                 "%y: tensor<*xundefined> = cast(%r) {to = 7}")) == "3 4 ? 10");
  CHECK(known(of_shape(factors + "%r: tensor<*xundefined> = onnx.Ceil(%m)\n"
                                 "%y: tensor<*xundefined> = cast(%r) {to = 7}")) == "3 5 ? 11");
}

TEST_CASE("what is not known") {
  CHECK(known("%y: tensor<4xi64> = input()") == "none");
  CHECK(known("%x: tensor<*xf32> = input()\n%y: tensor<*xundefined> = onnx.Shape(%x)") == "none");
  CHECK(known("%x: tensor<2x2xf32> = input()\n%z: tensor<1xi64> = constant() [0]\n"
              "%s: tensor<*xundefined> = onnx.Shape(%x)\n"
              "%y: tensor<*xundefined> = onnx.Div(%s, %z)") == "? ?");
}

TEST_CASE("a chain that doubles at each step is given up, not followed") {
  std::string text = "%x: tensor<2xf32> = input()\n%a0: tensor<*xundefined> = onnx.Shape(%x)\n";
  for (int i = 0; i < 60; ++i) {
    const std::string at = "%a" + std::to_string(i);
    text +=
        "%a" + std::to_string(i + 1) + ": tensor<*xundefined> = onnx.Max(" + at + ", " + at + ")\n";
  }
  CHECK(known(text + "%y: tensor<*xundefined> = identity(%a60)") == "none");
}

TEST_CASE("shapes follow from what is known of a list") {
  CHECK(shape_of_y(of_shape("%y: tensor<*xundefined> = expand(%x, %s)")) == "2x3x?x7");
  CHECK(shape_of_y(of_shape("%y: tensor<*xundefined> = reshape(%x, %s)")) == "2x3x?x7");
  CHECK(shape_of_y(of_shape("%m: tensor<*xundefined> = multiply(%s, %two)\n"
                            "%y: tensor<*xundefined> = onnx.Resize(%x, _, _, %m)")) == "4x6x?x14");
  CHECK(shape_of_y(of_shape("%y: tensor<*xundefined> = onnx.Tile(%x, %s)")) == "4x9x?x49");
  CHECK(shape_of_y(of_shape("%y: tensor<*xundefined> = onnx.ConstantOfShape(%s)")) == "2x3x?x7");
  CHECK(shape_of_y("%x: tensor<2x3xf32> = input()\n%n: tensor<3xi64> = input()\n"
                   "%y: tensor<*xundefined> = reshape(%x, %n)") == "?x?x?");
}

TEST_CASE("fold_shapes: lists that are known are constants, of the same names") {
  Graph graph =
      inferred(of_shape("%t: tensor<*xundefined> = slice(%s, %one, %two)\n"
                        "%y: tensor<*xundefined> = multiply(%t, %two)\n"
                        "output(%y)\noutput(%s)"));
  REQUIRE(detail::fold_shapes(graph));
  const Constant* const folded = graph.constant(graph.find_value("y").node);
  REQUIRE(folded != nullptr);
  CHECK(read_integers(*folded).value() == std::vector<std::int64_t>{6});
  CHECK(graph.constant(graph.find_value("s").node) == nullptr);
}
