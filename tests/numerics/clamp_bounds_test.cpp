#include "numerics/clamp_bounds.hpp"

#include <doctest/doctest.h>

#include <string>

#include "numerics/helpers.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;
using test::double_infinity;

namespace {

std::optional<ClampBounds> bounds_of(const std::string& line) {
  const auto graph = parse_graph("graph {}\n%x: tensor<2xf32> = input()\n" + line);
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  return clamp_bounds(graph->ref(graph->find_value("y").node));
}

}  // namespace

TEST_CASE("the bounds of a clamp, as operands or as attributes") {
  const std::string low = "%low: tensor<f32> = constant() [-1.5]\n";
  CHECK(bounds_of("%y: tensor<2xf32> = onnx.Relu(%x)\n") == ClampBounds{0, double_infinity});
  CHECK(bounds_of("%y: tensor<2xf32> = onnx.Clip(%x) {max = 6.0}\n") ==
        ClampBounds{-double_infinity, 6});
  CHECK(bounds_of("%y: tensor<2xf32> = onnx.Clip(%x)\n") ==
        ClampBounds{-double_infinity, double_infinity});
  CHECK(bounds_of(low + "%y: tensor<2xf32> = onnx.Clip(%x, %low)\n") ==
        ClampBounds{-1.5, double_infinity});
  CHECK(bounds_of(low + "%high: tensor<1xf16> = constant() [0.5]\n"
                        "%y: tensor<2xf32> = onnx.Clip(%x, %low, %high)\n") ==
        ClampBounds{-1.5, 0.5});
}

TEST_CASE("no bounds: another operation, computed ones, several, integers, the wrong way round") {
  CHECK_FALSE(bounds_of("%y: tensor<2xf32> = onnx.Sigmoid(%x)\n"));
  CHECK_FALSE(bounds_of("%low: tensor<f32> = input()\n%y: tensor<2xf32> = onnx.Clip(%x, %low)\n"));
  CHECK_FALSE(
      bounds_of("%low: tensor<2xf32> = constant() [1.0, 2.0]\n"
                "%y: tensor<2xf32> = onnx.Clip(%x, %low)\n"));
  CHECK_FALSE(
      bounds_of("%low: tensor<i8> = constant() [1]\n"
                "%y: tensor<2xf32> = onnx.Clip(%x, %low)\n"));
  CHECK_FALSE(bounds_of("%y: tensor<2xf32> = onnx.Clip(%x) {max = 1.0, min = 2.0}\n"));
}
