#include "quadrant/ir/graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "build.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

using Edges = std::multiset<Use>;

Edges uses_of(const Graph& graph, NodeId node) {
  const auto uses = graph.uses(node);
  return {uses.begin(), uses.end()};
}

}  // namespace

TEST_CASE("inputs, constants and outputs are nodes") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2, 3}));
  const Value w = graph.add_constant("w", build::floats({3}, {1, 2, 3}));
  const Value y = build::add(graph, "add", {x, w});
  const NodeId out = graph.add_output("y", y);
  const NodeId again = graph.add_output("y2", y);

  CHECK(graph.node_count() == 5);
  CHECK(std::vector<NodeId>(graph.inputs().begin(), graph.inputs().end()) ==
        std::vector<NodeId>{x.node});
  CHECK(std::vector<NodeId>(graph.outputs().begin(), graph.outputs().end()) ==
        std::vector<NodeId>{out, again});
  CHECK(graph.kind(x.node) == "input");
  CHECK(graph.kind(out) == "output");
  CHECK(graph.name(out) == "y");
  CHECK(graph.type(w) == build::f32({3}));
  REQUIRE(graph.constant(w.node) != nullptr);
  CHECK(graph.constant(w.node)->element_count() == 3);
  CHECK(graph.constant(y.node) == nullptr);
  CHECK(graph.result_count(out) == 0);
  CHECK(graph.find_value("w") == w);
  CHECK(graph.find_value("nothing").is_absent());

  graph.erase(again);
  CHECK(graph.outputs().size() == 1);
  graph.erase(out);
  graph.erase(y.node);
  graph.erase(x.node);
  CHECK(graph.inputs().empty());
  CHECK(graph.node_count() == 1);
}

TEST_CASE("parallel edges are uses of their own") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  const Value other = graph.add_input("other", {});
  const Value sum = build::add(graph, "add", {x, x});
  CHECK(uses_of(graph, x.node) == Edges{{0, sum.node, 0}, {0, sum.node, 1}});
  graph.set_operand(sum.node, 0, other);
  CHECK(uses_of(graph, x.node) == Edges{{0, sum.node, 1}});
  CHECK(uses_of(graph, other.node) == Edges{{0, sum.node, 0}});
  graph.set_operand(sum.node, 1, {});
  CHECK(graph.uses(x.node).empty());
  graph.set_operand(sum.node, 1, other);
  graph.replace_uses(other, x);
  CHECK(uses_of(graph, x.node) == Edges{{0, sum.node, 0}, {0, sum.node, 1}});
  graph.replace_uses(x, x);
  CHECK(graph.uses(x.node).size() == 2);
}

TEST_CASE("replace_uses moves the uses of one result only") {
  Graph graph;
  const NodeId split = graph.add({.kind = "split", .results = {{"a", {}}, {"b", {}}}});
  const Value user = build::add(graph, "op", {{split, 0}, {split, 1}, {split, 0}});
  const Value x = graph.add_input("x", {});
  graph.replace_uses({split, 0}, x);
  CHECK(uses_of(graph, split) == Edges{{1, user.node, 1}});
  CHECK(uses_of(graph, x.node) == Edges{{0, user.node, 0}, {0, user.node, 2}});
}

TEST_CASE("value names are unique; taken ones get a suffix") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  const Value second = graph.add_input("x", {});
  CHECK(graph.value_name(x) == "x");
  CHECK(graph.value_name(second) != "x");
  CHECK(graph.find_value(graph.value_name(second)) == second);

  graph.reserve_name("inner");
  const Value inner = build::add(graph, "op", {}, {}, {}, "inner");
  CHECK(graph.value_name(inner) != "inner");
  CHECK(graph.find_value("inner").is_absent());

  const Value unnamed = build::add(graph, "op", {});
  CHECK(!graph.value_name(unnamed).empty());

  CHECK(graph.set_value_name(second, "x") != "x");
  CHECK(graph.set_value_name(second, "z") == "z");
  CHECK(graph.set_value_name(second, "z") == "z");
  CHECK(graph.find_value("z") == second);
  CHECK(graph.set_value_name(x, "w") == "w");
  CHECK(graph.find_value("x").is_absent());
  CHECK(graph.set_value_name(second, "x") == "x");
}

TEST_CASE("names become free with their node, unless they are reserved") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  graph.erase(x.node);
  CHECK(graph.find_value("x").is_absent());
  const Value again = graph.add_input("x", {});
  CHECK(graph.value_name(again) == "x");
}

TEST_CASE("many equal names") {
  Graph graph;
  std::set<std::string> names;
  for (int i = 0; i < 20000; ++i) {
    names.insert(std::string(graph.value_name(build::add(graph, "op", {}, {}, {}, "same"))));
  }
  CHECK(names.size() == 20000);
}

TEST_CASE("types, constants, attributes and names can be changed") {
  Graph graph;
  const Value w = graph.add_constant("w", build::floats({2}, {1, 2}));
  const auto type = build::uniform({0.5F});
  graph.set_constant(w.node, build::zeros(ElementType::int8, {2}), type);
  CHECK(graph.type(w) == build::quantized({2}, type));
  CHECK(graph.constant(w.node)->element() == ElementType::int8);
  graph.set_constant(w.node, build::floats({3}, {1, 2, 3}));
  CHECK(graph.type(w) == build::f32({3}));

  const Value y = build::add(graph, "op", {w});
  graph.set_type(y, build::f32({9}));
  CHECK(graph.type(y) == build::f32({9}));
  graph.set_attribute(y.node, "axis", std::int64_t{1});
  CHECK(graph.attributes(y.node).size() == 1);
  CHECK(graph.attribute(y.node, "axis") != nullptr);
  graph.erase_attribute(y.node, "axis");
  CHECK(graph.attribute(y.node, "axis") == nullptr);
  graph.set_node_name(y.node, "dense");
  CHECK(graph.name(y.node) == "dense");
  graph.attributes().set("opset", std::int64_t{13});
  CHECK(graph.attributes().size() == 1);
}

TEST_CASE("a copy is a graph of its own that shares contents") {
  Graph graph;
  const Value w = graph.add_constant("w", build::floats({2}, {1, 2}));
  Graph copy = graph;
  copy.set_value_name(w, "v");
  const Value y = build::add(copy, "op", {w});
  CHECK(graph.value_name(w) == "w");
  CHECK(graph.uses(w.node).empty());
  CHECK(!graph.contains(y.node));
  CHECK(*graph.constant(w.node) == *copy.constant(w.node));
}

TEST_CASE("a value with many users loses them in linear time") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  std::vector<NodeId> users;
  for (int i = 0; i < test::shortened(200000); ++i)
    users.push_back(build::add(graph, "op", {x}).node);
  for (const NodeId user : users) graph.erase(user);  // in the order that hurts a scan most
  CHECK(graph.uses(x.node).empty());
  CHECK(graph.node_count() == 1);
}

namespace {

// What a graph is, said naively.
struct Model {
  struct Node {
    std::string kind;
    std::vector<Value> operands;
    std::uint32_t results = 0;
  };
  std::map<NodeId, Node> nodes;
  std::set<NodeId> erased;

  [[nodiscard]] Edges uses_of(NodeId node) const {
    Edges uses;
    for (const auto& [user, model] : nodes) {
      for (std::uint32_t i = 0; i < model.operands.size(); ++i) {
        const Value value = model.operands[i];
        if (!value.is_absent() && value.node == node) uses.insert({value.result, user, i});
      }
    }
    return uses;
  }
};

void check_same(const Graph& graph, const Model& model) {
  REQUIRE(graph.node_count() == model.nodes.size());
  std::set<NodeId> live;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    if (const NodeId node = graph.node_at(i); node.is_valid()) live.insert(node);
  }
  REQUIRE(live.size() == model.nodes.size());
  std::set<std::string_view> names;
  for (const auto& [node, expected] : model.nodes) {
    REQUIRE(graph.contains(node));
    REQUIRE(live.contains(node));
    REQUIRE(graph.kind(node) == expected.kind);
    REQUIRE(graph.result_count(node) == expected.results);
    REQUIRE(std::ranges::equal(graph.operands(node), expected.operands));
    REQUIRE(uses_of(graph, node) == model.uses_of(node));
    for (std::uint32_t result = 0; result < expected.results; ++result) {
      const std::string_view name = graph.value_name({node, result});
      REQUIRE(!name.empty());
      REQUIRE(names.insert(name).second);
      REQUIRE(graph.find_value(name) == Value{node, result});
    }
  }
  for (const NodeId node : model.erased) REQUIRE(!graph.contains(node));
}

}  // namespace

TEST_CASE("random edits leave what a naive model says") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Graph graph;
    Model model;
    const auto pick_node = [&]() {
      auto found = model.nodes.begin();
      std::advance(found, static_cast<std::ptrdiff_t>(random() % model.nodes.size()));
      return found->first;
    };
    const auto pick_value = [&]() -> Value {
      if (model.nodes.empty() || random() % 6 == 0) return {};
      const NodeId node = pick_node();
      const std::uint32_t results = model.nodes[node].results;
      return results == 0 ? Value{} : Value{node, static_cast<std::uint32_t>(random() % results)};
    };
    const auto replace = [&](Value from, Value to) {
      for (auto& [node, expected] : model.nodes) {
        std::ranges::replace(expected.operands, from, to);
      }
    };
    for (int step = 0; step < 150; ++step) {
      const auto action = random() % 10;
      if (action < 4 || model.nodes.empty()) {
        Model::Node node{action % 2 == 0 ? "a" : "b", {}, static_cast<std::uint32_t>(random() % 3)};
        for (auto n = random() % 4; n > 0; --n) node.operands.push_back(pick_value());
        NodeSpec spec{.kind = node.kind, .operands = node.operands};
        for (std::uint32_t i = 0; i < node.results; ++i) {
          spec.results.push_back({random() % 2 == 0 ? "" : "n" + std::to_string(random() % 5), {}});
        }
        const NodeId id = graph.add(std::move(spec));
        REQUIRE(!model.nodes.contains(id));
        REQUIRE(!model.erased.contains(id));
        model.nodes.emplace(id, std::move(node));
      } else if (action < 6) {
        const NodeId node = pick_node();
        auto& operands = model.nodes[node].operands;
        if (operands.empty()) continue;
        const auto operand = random() % operands.size();
        operands[operand] = pick_value();
        graph.set_operand(node, static_cast<std::uint32_t>(operand), operands[operand]);
      } else if (action < 7) {
        const Value from = pick_value();
        const Value to = pick_value();
        if (from.is_absent()) continue;
        graph.replace_uses(from, to);
        replace(from, to);
      } else if (action < 8) {
        const Value value = pick_value();
        if (!value.is_absent()) graph.set_value_name(value, "n" + std::to_string(random() % 5));
      } else {
        const NodeId node = pick_node();
        for (std::uint32_t result = 0; result < model.nodes[node].results; ++result) {
          graph.replace_uses({node, result}, {});
          replace({node, result}, {});
        }
        graph.erase(node);
        model.nodes.erase(node);
        model.erased.insert(node);
      }
      check_same(graph, model);
    }
  }
}
