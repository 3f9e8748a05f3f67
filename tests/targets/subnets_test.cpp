#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "models.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/ranks.hpp"
#include "quadrant/targets/runtime_profile.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

const SubnetSplit split{.first = "HTA",
                        .takes = {"red"},
                        .first_parameters = {},
                        .second = "HNN",
                        .second_parameters = {}};

std::vector<Subnet> divided(const Graph& graph) {
  const auto order = topological_order(graph);
  const auto list = find_parameters(graph);
  REQUIRE(order);
  REQUIRE(list);
  return divide(graph, *order, split, list->parameters);
}

std::vector<std::string> names(const Graph& graph, const Subnet& subnet) {
  std::vector<std::string> result;
  for (const NodeId node : subnet.nodes) result.emplace_back(graph.value_name({node, 0}));
  return result;
}

using Matrix = std::vector<std::vector<bool>>;

// Which nodes a path leads to, by Warshall's algorithm; edges from `quantize` and the like, too.
Matrix reachable(const Graph& graph) {
  const std::size_t count = graph.index_bound();
  Matrix reach(count, std::vector<bool>(count, false));
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const Value operand : graph.operands(graph.node_at(i))) {
      reach[operand.node.index][i] = true;
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

bool is_neutral(const Graph& graph, NodeId node) {
  return graph.kind(node) == "quantize" || graph.kind(node) == "dequantize";
}

// Whether a node is reached from the first of the subnet by its edges in either direction.
bool is_connected(const Graph& graph, const Subnet& subnet) {
  const auto data = [&](NodeId node) {
    while (is_neutral(graph, node)) node = graph.operands(node)[0].node;
    return node;
  };
  std::vector<NodeId> found{subnet.nodes.front()};
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const NodeId other : subnet.nodes) {
      if (std::ranges::find(found, other) != found.end()) continue;
      const auto reads = [&](NodeId reader, NodeId producer) {
        return std::ranges::any_of(graph.operands(reader),
                                   [&](Value operand) { return data(operand.node) == producer; });
      };
      if (reads(other, found[at]) || reads(found[at], other)) found.push_back(other);
    }
  }
  return found.size() == subnet.nodes.size();
}

// Of two kinds of operations, with quantizers between some.
Graph random_graph(std::mt19937& random) {
  Graph graph;
  std::vector<Value> values{graph.add_input("x", build::f32({1}))};
  const auto count = 2 + random() % 9;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Value> operands;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      operands.push_back(values[random() % values.size()]);
    }
    const Value made =
        build::add(graph, random() % 2 == 0 ? "red" : "blue", operands, build::f32({1}));
    values.push_back(random() % 4 == 0 ? models::requantized(graph, made) : made);
  }
  graph.add_output("y", values.back());
  return graph;
}

}  // namespace

TEST_CASE("a chain changes halves where the kinds change") {
  Graph graph;
  Value value = graph.add_input("x", build::f32({1}));
  int number = 0;
  for (const char* kind : {"red", "red", "blue", "red", "blue", "blue"}) {
    value = build::add(graph, kind, {value}, build::f32({1}), {}, "v" + std::to_string(number++));
  }
  graph.add_output("y", value);
  const auto subnets = divided(graph);
  REQUIRE(subnets.size() == 4);
  using Names = std::vector<std::string>;
  CHECK(names(graph, subnets[0]) == Names{"v0", "v1"});
  CHECK(names(graph, subnets[1]) == Names{"v2"});
  CHECK(names(graph, subnets[2]) == Names{"v3"});
  CHECK(names(graph, subnets[3]) == Names{"v4", "v5"});
  CHECK(subnets[0].is_first);
  CHECK(!subnets[1].is_first);
}

TEST_CASE("two that are joined around a third are apart: their subnet would wait for itself") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1}));
  const Value top = build::add(graph, "red", {x}, build::f32({1}), {}, "top");
  const Value side = build::add(graph, "blue", {top}, build::f32({1}), {}, "side");
  graph.add_output("y", build::add(graph, "red", {top, side}, build::f32({1}), {}, "bottom"));
  CHECK(divided(graph).size() == 3);
}

TEST_CASE("branches that nothing joins are subnets each") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1}));
  for (int i = 0; i < 3; ++i) graph.add_output("y", build::add(graph, "red", {x}));
  CHECK(divided(graph).size() == 3);
  Graph joined;
  const Value z = joined.add_input("x", build::f32({1}));
  const Value a = build::add(joined, "red", {z});
  const Value b = build::add(joined, "red", {z});
  joined.add_output("y", build::add(joined, "red", {a, b}));
  CHECK(divided(joined).size() == 1);
}

TEST_CASE("random graphs: every operation once, halves as told, connected, convex, in order") {
  std::mt19937 random(3);
  std::size_t most = 0;
  for (int round = 0; round < 400; ++round) {
    const Graph graph = random_graph(random);
    const auto subnets = divided(graph);
    most = std::max(most, subnets.size());
    const Matrix reach = reachable(graph);
    constexpr std::size_t none = 1000;
    std::vector<std::size_t> subnet_of(graph.index_bound(), none);
    for (std::size_t i = 0; i < subnets.size(); ++i) {
      for (const NodeId node : subnets[i].nodes) {
        CHECK(subnet_of[node.index] == none);
        subnet_of[node.index] = i;
        CHECK(subnets[i].is_first == (graph.kind(node) == "red"));
      }
      CHECK(is_connected(graph, subnets[i]));
    }
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const std::string_view kind = graph.kind(graph.node_at(i));
      CHECK((subnet_of[i] != none) == (kind == "red" || kind == "blue"));
      for (std::uint32_t k = 0; k < graph.index_bound(); ++k) {
        if (!reach[i][k] || subnet_of[i] == none || subnet_of[k] == none) continue;
        CHECK(subnet_of[i] <= subnet_of[k]);
        if (subnet_of[i] != subnet_of[k]) continue;
        // Nothing of another subnet lies between two of one.
        for (std::uint32_t between = 0; between < graph.index_bound(); ++between) {
          if (!reach[i][between] || !reach[between][k] || subnet_of[between] == none) continue;
          CHECK(subnet_of[between] == subnet_of[i]);
        }
      }
    }
  }
  CHECK(most > 3);
}

TEST_CASE("parameters go to the first subnet that reads them, also through a dequantize") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1}));
  const Value shared = models::coded_weight(graph, "shared", ElementType::int8, {10});
  const Value own = models::weight(graph, "own", ElementType::float32, {3});
  const Value a = build::add(graph, "red", {x, shared});
  const Value b = build::add(graph, "blue", {a, shared, own, own});
  graph.add_output("y", b);
  const auto subnets = divided(graph);
  REQUIRE(subnets.size() == 2);
  CHECK(subnets[0].parameters == ParameterTotals{1, 10, 15});
  CHECK(subnets[1].parameters == ParameterTotals{1, 3, 12});
}

TEST_CASE("a quantizer with computed scales is an operation") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1}));
  const Value scale = build::add(graph, "red", {x});
  const Value codes = build::add(graph, "onnx.QuantizeLinear", {x, scale});
  graph.add_output("y", build::add(graph, "red", {codes}));
  CHECK(divided(graph).size() == 3);
}

TEST_CASE("a chain of 100,000 operations") {
  Graph graph;
  Value value = graph.add_input("x", build::f32({1}));
  const std::size_t length = test::shortened(std::size_t{100'000});
  for (std::size_t i = 0; i < length; ++i) {
    value = build::add(graph, i % 2 == 0 ? "red" : "blue", {value});
  }
  CHECK(divided(graph).size() == length);
}

TEST_CASE("nothing to divide") {
  CHECK(divided(Graph()).empty());
  Graph graph;
  graph.add_output("y", graph.add_input("x", build::f32({1})));
  CHECK(divided(graph).empty());
}
