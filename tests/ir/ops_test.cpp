#include "quadrant/ir/ops.hpp"

#include <doctest/doctest.h>

#include "build.hpp"

using namespace quadrant;

namespace {

std::vector<std::int64_t> perm_of(Shape operand, Attributes attributes, Shape result = {}) {
  Graph graph;
  const Value x = graph.add_input("x", build::f32(std::move(operand)));
  const Value y =
      build::add(graph, "transpose", {x}, build::f32(std::move(result)), std::move(attributes));
  return ops::Transpose{graph.ref(y.node)}.perm();
}

using Perm = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("normalize_axis") {
  CHECK(normalize_axis(1, 3) == 1);
  CHECK(normalize_axis(-1, 3) == 2);
  CHECK(normalize_axis(-3, 3) == 0);
  CHECK(!normalize_axis(3, 3));
  CHECK(!normalize_axis(-4, 3));
  CHECK(!normalize_axis(0, 0));
  CHECK(!normalize_axis(INT64_MIN, 3));
}

TEST_CASE("Transpose::perm is the attribute, or all axes reversed") {
  CHECK(perm_of({2, 3, 4}, {{"perm", Perm{2, 0, 1}}}) == Perm{2, 0, 1});
  CHECK(perm_of({2, 3, 4}, {}) == Perm{2, 1, 0});
  CHECK(perm_of(Shape(), {{"perm", Perm{1, 0}}}) == Perm{1, 0});
}

TEST_CASE("Transpose::perm is empty when there is none") {
  CHECK(perm_of(Shape(), {}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{0}}}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{0, 0}}}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{0, 2}}}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{INT64_MIN, 0}}}).empty());
}

TEST_CASE("attributes that are missing have ONNX's defaults") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2, 2}));
  const Value plain = build::add(graph, "gemm", {x, x});
  const Value flagged = build::add(graph, "gemm", {x, x}, {}, {{"transB", std::int64_t{1}}});
  CHECK(!ops::Gemm{graph.ref(plain.node)}.trans_a());
  CHECK(!ops::Gemm{graph.ref(plain.node)}.trans_b());
  CHECK(!ops::Gemm{graph.ref(flagged.node)}.trans_a());
  CHECK(ops::Gemm{graph.ref(flagged.node)}.trans_b());
  const Value reshape = build::add(graph, "reshape", {x, x}, {}, {{"allowzero", std::int64_t{1}}});
  CHECK(ops::Reshape{graph.ref(reshape.node)}.allow_zero());
}
