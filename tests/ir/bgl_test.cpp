#include "quadrant/ir/bgl.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/concept/assert.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/graph/topological_sort.hpp>
#include <map>
#include <set>
#include <sstream>

#include "build.hpp"

using namespace quadrant;

BOOST_CONCEPT_ASSERT((boost::GraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::VertexAndEdgeListGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyMapConcept<NodeIndexMap, NodeId>));
BOOST_CONCEPT_ASSERT(
    (boost::ReadablePropertyGraphConcept<BoostGraph, NodeId, boost::vertex_index_t>));

namespace {

// x -> relu -> add(relu, relu) -> y, and w, which nobody reads.
struct Diamond {
  Graph graph;
  Value x = graph.add_input("x", {});
  Value relu = build::add(graph, "relu", {x});
  Value sum = build::add(graph, "add", {relu, Value{}, relu});
  NodeId out = graph.add_output("y", sum);
  Value unused = graph.add_constant("w", build::integers({1}));
};

template <class Range>
auto collect(const Range& range) {
  std::vector<std::decay_t<decltype(*range.first)>> items;
  for (auto i = range.first; i != range.second; ++i) items.push_back(*i);
  return items;
}

}  // namespace

TEST_CASE("degrees count parallel edges and leave absent operands out") {
  const Diamond d;
  const BoostGraph graph(d.graph);
  CHECK(out_degree(d.relu.node, graph) == 2);
  CHECK(in_degree(d.sum.node, graph) == 2);
  CHECK(degree(d.sum.node, graph) == 3);
  CHECK(in_degree(d.x.node, graph) == 0);
  CHECK(out_degree(d.unused.node, graph) == 0);
  const auto in = collect(in_edges(d.sum.node, graph));
  CHECK(in == std::vector<Edge>{{d.relu, d.sum.node, 0}, {d.relu, d.sum.node, 2}});
  auto out = collect(out_edges(d.relu.node, graph));
  std::ranges::sort(out);
  CHECK(out == in);
  CHECK(source(in[0], graph) == d.relu.node);
  CHECK(target(in[0], graph) == d.sum.node);
}

TEST_CASE("all edges are those of all operands") {
  const Diamond d;
  const BoostGraph graph(d.graph);
  const auto all = collect(edges(graph));
  CHECK(num_edges(graph) == 4);
  CHECK(all.size() == 4);
  const std::multiset<Edge> expected{
      {d.x, d.relu.node, 0}, {d.relu, d.sum.node, 0}, {d.relu, d.sum.node, 2}, {d.sum, d.out, 0}};
  CHECK(std::multiset<Edge>(all.begin(), all.end()) == expected);
}

TEST_CASE("erased nodes are no vertices; indices stay below num_vertices") {
  Diamond d;
  d.graph.erase(d.out);
  d.graph.erase(d.sum.node);
  const BoostGraph graph(d.graph);
  const auto nodes = collect(vertices(graph));
  CHECK(nodes == std::vector<NodeId>{d.x.node, d.relu.node, d.unused.node});
  CHECK(num_edges(graph) == 1);
  CHECK(collect(edges(graph)).size() == 1);
  for (const NodeId node : nodes) CHECK(get(NodeIndexMap{}, node) < num_vertices(graph));
  d.graph.erase(d.unused.node);
  d.graph.erase(d.relu.node);
  d.graph.erase(d.x.node);
  CHECK(collect(vertices(graph)).empty());
  CHECK(collect(edges(graph)).empty());
}

TEST_CASE("an empty graph") {
  const Graph empty;
  const BoostGraph graph(empty);
  CHECK(collect(vertices(graph)).empty());
  CHECK(collect(edges(graph)).empty());
  CHECK(num_edges(graph) == 0);
}

TEST_CASE("boost::topological_sort") {
  Diamond d;
  const Value late = build::add(d.graph, "late", {d.x});
  d.graph.set_operand(d.sum.node, 1, late);  // an edge against the order of indices
  std::vector<NodeId> reversed;
  BoostGraph graph(d.graph);
  boost::topological_sort(graph, std::back_inserter(reversed),
                          boost::vertex_index_map(NodeIndexMap{}));
  CHECK(reversed.size() == 6);
  std::map<NodeId, std::ptrdiff_t> position;
  for (const NodeId node : reversed) position[node] = -static_cast<std::ptrdiff_t>(position.size());
  CHECK(position.size() == 6);
  for (const Edge& edge : collect(edges(graph))) {
    CHECK(position[source(edge, graph)] < position[target(edge, graph)]);
  }
}

TEST_CASE("boost::topological_sort finds the cycle") {
  Diamond d;
  d.graph.set_operand(d.relu.node, 0, d.sum);
  BoostGraph graph(d.graph);
  std::vector<NodeId> reversed;
  CHECK_THROWS_AS(boost::topological_sort(graph, std::back_inserter(reversed),
                                          boost::vertex_index_map(NodeIndexMap{})),
                  boost::not_a_dag);
}

TEST_CASE("boost::filtered_graph: only edges between kinds that are eligible") {
  const Diamond d;
  const auto eligible = [&](NodeId node) {
    return d.graph.kind(node) == "relu" || d.graph.kind(node) == "add";
  };
  struct Both {
    const Graph* graph = nullptr;
    bool operator()(NodeId node) const {
      return graph->kind(node) == "relu" || graph->kind(node) == "add";
    }
    bool operator()(const Edge& edge) const {
      return (*this)(edge.value.node) && (*this)(edge.user);
    }
  };
  const BoostGraph graph(d.graph);
  const boost::filtered_graph<BoostGraph, Both, Both> filtered(graph, Both{&d.graph},
                                                               Both{&d.graph});
  std::size_t nodes = 0;
  for (auto [i, end] = boost::vertices(filtered); i != end; ++i, ++nodes) CHECK(eligible(*i));
  CHECK(nodes == 2);
  std::size_t count = 0;
  for (auto [i, end] = boost::edges(filtered); i != end; ++i, ++count) {
    CHECK(boost::source(*i, filtered) == d.relu.node);
    CHECK(boost::target(*i, filtered) == d.sum.node);
  }
  CHECK(count == 2);
  CHECK(boost::out_degree(d.sum.node, filtered) == 0);
  CHECK(boost::in_degree(d.relu.node, filtered) == 0);
}

TEST_CASE("boost::reverse_graph: what an output depends on") {
  Diamond d;
  const Value unrelated = build::add(d.graph, "relu", {d.x});
  const BoostGraph graph(d.graph);
  const auto reversed = boost::make_reverse_graph(graph);
  std::vector<boost::default_color_type> colors(num_vertices(graph));
  std::set<NodeId> reached;
  struct Visitor : boost::default_bfs_visitor {
    explicit Visitor(std::set<NodeId>& nodes) : reached(&nodes) {}
    void discover_vertex(NodeId node, const boost::reverse_graph<BoostGraph>&) {
      reached->insert(node);
    }
    std::set<NodeId>* reached;
  };
  boost::breadth_first_search(
      reversed, d.out,
      boost::visitor(Visitor(reached))
          .vertex_index_map(NodeIndexMap{})
          .color_map(boost::make_iterator_property_map(colors.data(), NodeIndexMap{})));
  CHECK(reached == std::set<NodeId>{d.out, d.sum.node, d.relu.node, d.x.node});
  CHECK(!reached.contains(unrelated.node));
}

TEST_CASE("boost::write_graphviz writes each node and each parallel edge") {
  Diamond d;
  d.graph.erase(d.unused.node);
  std::ostringstream out;
  boost::write_graphviz(
      out, BoostGraph{d.graph},
      [&](std::ostream& stream, NodeId node) {
        stream << "[label=\"" << d.graph.kind(node) << "\"]";
      },
      boost::default_writer(), boost::default_writer(), NodeIndexMap{});
  const std::string text = out.str();
  const auto count = [&](std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  CAPTURE(text);
  CHECK(count("digraph") == 1);
  CHECK(count("label=") == 4);
  CHECK(count("label=\"add\"") == 1);
  CHECK(count("->") == 4);
  CHECK(count("1->2") == 2);
}
