#include "quadrant/ir/graph_view.hpp"

#include <doctest/doctest.h>

#include <unordered_set>

#include "build.hpp"

using namespace quadrant;

TEST_CASE("handles are invalid until they are given out") {
  CHECK(!NodeId{}.is_valid());
  CHECK(Value{}.is_absent());
  CHECK(NodeId{0, 0}.is_valid());
  CHECK(NodeId{1, 0} != NodeId{1, 1});
  CHECK(NodeId{1, 9} < NodeId{2, 0});
}

TEST_CASE("handles are keys of hash tables") {
  std::unordered_set<Value> values;
  for (std::uint32_t node = 0; node < 10; ++node) {
    for (std::uint32_t result = 0; result < 3; ++result) values.insert({{node, 1}, result});
  }
  CHECK(values.size() == 30);
  CHECK(values.contains(Value{{4, 1}, 2}));
  CHECK(!values.contains(Value{{4, 0}, 2}));
}

TEST_CASE("a NodeRef reads operands that are there, absent, or beyond the last") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2, 3}));
  const Value w = graph.add_constant("w", build::floats({3}, {1, 2, 3}));
  const Value y =
      build::add(graph, "mystery", {x, Value{}, w}, build::f32({2}), {{"axis", std::int64_t{-1}}});
  const NodeRef node = graph.ref(y.node);
  CHECK(node.kind() == "mystery");
  CHECK(node.operands().size() == 3);
  CHECK(node.operand(0) == x);
  CHECK(node.operand(1).is_absent());
  CHECK(node.operand(2) == w);
  CHECK(node.operand(3).is_absent());

  REQUIRE(node.operand_type(0) != nullptr);
  CHECK(*node.operand_type(0) == build::f32({2, 3}));
  CHECK(node.operand_type(1) == nullptr);
  CHECK(node.operand_type(3) == nullptr);

  CHECK(node.operand_constant(0) == nullptr);
  CHECK(node.operand_constant(1) == nullptr);
  REQUIRE(node.operand_constant(2) != nullptr);
  CHECK(node.operand_constant(2)->element_count() == 3);

  CHECK(node.result() == y);
  CHECK(node.type() == build::f32({2}));
  CHECK(node.attribute_or<std::int64_t>("axis", 5) == -1);
  CHECK(node.attribute_or<double>("axis", 5.0) == 5.0);
  CHECK(node.attribute_or<std::int64_t>("none", 5) == 5);
}

TEST_CASE("a node's label is its name, else that of its result, else its kind") {
  Graph graph;
  const NodeId named = graph.add({.kind = "relu", .name = "first", .results = {{"r", {}}}});
  const NodeId unnamed = graph.add({.kind = "relu", .results = {{"s", {}}}});
  const NodeId bare = graph.add({.kind = "print"});
  CHECK(label(graph, named) == "first");
  CHECK(label(graph, unnamed) == "s");
  CHECK(label(graph, bare) == "print");
}
