#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "build.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

// Every node once, and after everything it reads.
void check_order(const Graph& graph, const std::vector<NodeId>& order) {
  REQUIRE(order.size() == graph.node_count());
  std::vector<std::size_t> position(graph.index_bound(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    REQUIRE(graph.contains(order[i]));
    REQUIRE(position[order[i].index] == order.size());
    position[order[i].index] = i;
  }
  for (const NodeId node : order) {
    for (const Value operand : graph.operands(node)) {
      if (!operand.is_absent()) REQUIRE(position[operand.node.index] < position[node.index]);
    }
  }
}

}  // namespace

TEST_CASE("an empty graph has an empty order") {
  const auto order = topological_order(Graph());
  REQUIRE(order);
  CHECK(order->empty());
}

TEST_CASE("producers come before users, in random graphs with erased nodes") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Graph graph;
    std::vector<Value> values{graph.add_input("x", {})};
    for (int i = 0; i < 40; ++i) {
      std::vector<Value> operands;
      for (unsigned n = random() % 4; n > 0; --n) {
        operands.push_back(random() % 5 == 0 ? Value{} : values[random() % values.size()]);
      }
      values.push_back(build::add(graph, "op", operands));
    }
    // Turns some edges: indices are no order any more.
    for (std::size_t i = values.size(); i-- > 1;) {
      if (random() % 3 != 0 || !graph.uses(values[i].node).empty()) continue;
      graph.erase(values[i].node);
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const Value late = build::add(graph, "late", {});
    for (const Value value : values) {
      if (!graph.operands(value.node).empty()) graph.set_operand(value.node, 0, late);
    }
    const auto order = topological_order(graph);
    REQUIRE(order);
    check_order(graph, *order);
  }
}

TEST_CASE("a chain of 100,000 nodes, built backwards") {
  const int length = test::shortened(100'000);
  Graph graph;
  std::vector<Value> values;
  for (int i = 0; i < length; ++i) values.push_back(build::add(graph, "op", {Value{}}));
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    graph.set_operand(values[i].node, 0, values[i + 1]);
  const auto order = topological_order(graph);
  REQUIRE(order);
  REQUIRE(order->size() == values.size());
  CHECK(order->front() == values.back().node);
  CHECK(order->back() == values.front().node);
  CHECK(std::equal(order->rbegin(), order->rend(), values.begin(), values.end(),
                   [](NodeId node, Value value) { return node == value.node; }));
}

TEST_CASE("a node that reads one value twice") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  const Value y = build::add(graph, "add", {x, x});
  const auto order = topological_order(graph);
  REQUIRE(order);
  CHECK(*order == std::vector<NodeId>{x.node, y.node});
}

TEST_CASE("a cycle is an error that names a node on it") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  const NodeId outside =
      graph.add({.kind = "op", .name = "outside", .operands = {x}, .results = {{"o", {}}}});
  const NodeId first = graph.add(
      {.kind = "op", .name = "on_1", .operands = {{outside, 0}, {}}, .results = {{"f", {}}}});
  const NodeId second =
      graph.add({.kind = "op", .name = "on_2", .operands = {{first, 0}}, .results = {{"s", {}}}});
  graph.set_operand(first, 1, {second, 0});
  graph.add_output("y", {second, 0});
  const auto order = topological_order(graph);
  REQUIRE(!order);
  CHECK(order.error().code == ErrorCode::invalid_model);
  const std::string& node = order.error().place.node;
  CAPTURE(node);
  CHECK((node == "on_1" || node == "on_2"));
}

TEST_CASE("a node that reads itself") {
  Graph graph;
  const NodeId loop =
      graph.add({.kind = "op", .name = "loop", .operands = {Value{}}, .results = {{"l", {}}}});
  graph.set_operand(loop, 0, {loop, 0});
  const auto order = topological_order(graph);
  REQUIRE(!order);
  CHECK(order.error().place.node == "loop");
}
