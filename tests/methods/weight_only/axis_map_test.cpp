#include "weight_only/axis_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "methods/weight_only/build.hpp"

using namespace quadrant;

namespace {

std::vector<std::int64_t> index_of(std::int64_t position, const Shape& shape) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (std::size_t axis = index.size(); axis-- > 0;) {
    const std::int64_t extent = shape[static_cast<std::int64_t>(axis)];
    index[axis] = position % extent;
    position /= extent;
  }
  return index;
}

// The definition, element by element: does the index along `source` of every element equal its
// index along `target` of the result? `from(p)` is where element p of the result comes from.
bool keeps_index(const Shape& operand, const Shape& result, std::int64_t source,
                 std::int64_t target, const std::function<std::int64_t(std::int64_t)>& from) {
  if (operand[source] != result[target]) return false;
  for (std::int64_t p = 0; p < *result.element_count(); ++p) {
    const auto before = index_of(from(p), operand);
    const auto after = index_of(p, result);
    if (before[static_cast<std::size_t>(source)] != after[static_cast<std::size_t>(target)]) {
      return false;
    }
  }
  return true;
}

void check_all_axes(weight_only::SourceAxis map, NodeRef node, const Shape& operand,
                    const std::function<std::int64_t(std::int64_t)>& from) {
  const Shape& result = node.type().shape;
  for (std::int64_t target = 0; target < result.rank(); ++target) {
    bool possible = false;
    for (std::int64_t source = 0; source < operand.rank(); ++source) {
      possible = possible || keeps_index(operand, result, source, target, from);
    }
    const auto found = map(node, target);
    CAPTURE(to_string(operand));
    CAPTURE(to_string(result));
    CAPTURE(target);
    CHECK(found.has_value() == possible);
    if (found) CHECK(keeps_index(operand, result, *found, target, from));
  }
}

}  // namespace

TEST_CASE("reshape: an axis is found exactly when one keeps every element's index") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    // Two factorizations of the same count.
    const auto factors = [&](int count) {
      std::vector<std::int64_t> extents(1 + random() % 4, 1);
      for (int i = 0; i < count; ++i) extents[random() % extents.size()] *= i % 3 == 2 ? 3 : 2;
      return extents;
    };
    const auto from_extents = factors(5);
    const auto to_extents = factors(5);
    Graph graph;
    const Value w = build::weight(graph, "w", from_extents);
    const Value r = build::reshape(graph, "r", w, to_extents);
    REQUIRE(infer_shapes(graph).has_value());
    check_all_axes(weight_only::reshape_source, graph.ref(r.node), Shape(from_extents),
                   [](std::int64_t p) { return p; });
  }
}

TEST_CASE("reshape: the known wrong answers") {
  const auto source = [](std::vector<std::int64_t> from, std::vector<std::int64_t> to,
                         std::int64_t axis) {
    Graph graph;
    const Value w = build::weight(graph, "w", std::move(from));
    const Value r = build::reshape(graph, "r", w, to);
    REQUIRE(infer_shapes(graph).has_value());
    return weight_only::reshape_source(graph.ref(r.node), axis);
  };
  CHECK_FALSE(source({16, 8}, {16, 2, 4}, 2).has_value());  // 8 channels on a size-4 axis
  CHECK_FALSE(source({16, 8}, {128}, 0).has_value());
  CHECK_FALSE(source({16, 8}, {4, 4, 8}, 0).has_value());
  CHECK(source({16, 8}, {4, 4, 8}, 2) == 1);
  CHECK(source({16, 4, 4, 10}, {256, 10}, 1) == 3);
  CHECK(source({5, 1}, {1, 5}, 0) == 1);  // one group, whatever the stride
}

TEST_CASE("transpose: every axis is found, where perm puts it") {
  std::mt19937 random(8);
  for (int round = 0; round < 500; ++round) {
    const std::size_t rank = 1 + random() % 4;
    std::vector<std::int64_t> extents(rank);
    for (auto& extent : extents) extent = 1 + static_cast<std::int64_t>(random() % 4);
    std::vector<std::int64_t> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    std::ranges::shuffle(perm, random);
    Graph graph;
    const Value w = build::weight(graph, "w", extents);
    const Value t = build::node(graph, ops::Transpose::kind, "t", {w}, {{"perm", perm}});
    REQUIRE(infer_shapes(graph).has_value());
    const Shape operand(extents);
    const Shape result = graph.type(t).shape;
    const auto strides = operand.strides();
    check_all_axes(weight_only::transpose_source, graph.ref(t.node), operand, [&](std::int64_t p) {
      const auto index = index_of(p, result);
      std::int64_t from = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        from += index[i] * strides[static_cast<std::size_t>(perm[i])];
      }
      return from;
    });
  }
}
