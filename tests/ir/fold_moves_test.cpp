#include "ir/fold_moves.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Graph folded(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, to_string(graph.error()));
  const auto done = fold_moved_codes(*graph);
  REQUIRE_MESSAGE(done, to_string(done.error()));
  return *std::move(graph);
}

/// The codes of the constant that is called so; none for other values.
std::vector<std::int64_t> codes_of(const Graph& graph, std::string_view name) {
  const Constant* constant = graph.constant(graph.find_value(name).node);
  if (!constant || !*constant) return {};
  const auto codes = read_integers(*constant);
  REQUIRE(codes);
  return *codes;
}

}  // namespace

TEST_CASE("codes of blocks that a reshape makes channels of") {
  const Graph graph = folded(R"(graph {}
%x: tensor<1x2xf32> = input()
%c: tensor<2x2x2x!quant.uniform<i8:f32:{2:2}, {0.25, 0.5, 1.0, 2.0}>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%s: tensor<2xi64> = constant() [4, 2]
%w: tensor<4x2x!quant.uniform<i8:f32:0, {0.25, 0.5, 1.0, 2.0}>> = reshape(%c, %s)
%d: tensor<4x2xf32> = dequantize(%w)
%y: tensor<1x4xf32> = gemm(%x, %d) {transB = 1}
output(%y)
)");
  CHECK(codes_of(graph, "w") == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(graph.type(graph.find_value("w")).uniform()->granularity == Granularity::per_axis(0));
}

TEST_CASE("a transpose and a slice of dequantized codes") {
  const Graph graph = folded(R"(graph {}
%x: tensor<1x3xf32> = input()
%c: tensor<2x3x!quant.uniform<i8:f32:0, {0.25, 0.5}>> = constant() [1, 2, 3, 4, 5, 6]
%d: tensor<2x3xf32> = dequantize(%c)
%t: tensor<3x2xf32> = transpose(%d) {perm = [1, 0]}
%y: tensor<1x2xf32> = matmul(%x, %t)
output(%y)
)");
  CHECK(codes_of(graph, "t_codes") == std::vector<std::int64_t>{1, 4, 2, 5, 3, 6});
  CHECK(graph.kind(graph.find_value("t").node) == "dequantize");
  CHECK(graph.type(graph.find_value("t_codes")).uniform()->granularity == Granularity::per_axis(1));
}

TEST_CASE("codes that are joined and split") {
  const Graph graph = folded(R"(graph {}
%c: tensor<2x2x!quant.uniform<i8:f32:0, {0.25, 0.5}>> = constant() [1, 2, 3, 4]
%d: tensor<1x2x!quant.uniform<i8:f32:0, {1.0}>> = constant() [5, 6]
%j: tensor<3x2x!quant.uniform<i8:f32:0, {0.25, 0.5, 1.0}>> = concat(%c, %d) {axis = 0}
%n: tensor<2xi64> = constant() [1, 2]
%a: tensor<1x2x!quant.uniform<i8:f32:0, {0.25}>>, %b: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>> =
  split(%j, %n) {axis = 0}
output(%a)
output(%b)
)");
  CHECK(codes_of(graph, "j") == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(codes_of(graph, "a") == std::vector<std::int64_t>{1, 2});
  CHECK(codes_of(graph, "b") == std::vector<std::int64_t>{3, 4, 5, 6});
}

TEST_CASE("codes that a move quantizes anew, or that are computed, stay") {
  const Graph graph = folded(R"(graph {}
%x: tensor<2x2x!quant.uniform<i8:f32, 0.5>> = input()
%c: tensor<2x2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2, 3, 4]
%s: tensor<1xi64> = constant() [4]
%a: tensor<4x!quant.uniform<i8:f32, 0.25>> = reshape(%c, %s)
%b: tensor<4x!quant.uniform<i8:f32, 0.5>> = reshape(%x, %s)
output(%a)
output(%b)
)");
  CHECK(graph.kind(graph.find_value("a").node) == "reshape");
  CHECK(graph.kind(graph.find_value("b").node) == "reshape");
}
