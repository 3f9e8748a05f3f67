// Makes every GraphView a Boost.Graph graph: vertex list, edge list and bidirectional, with
// parallel edges. Vertices are NodeId.
//
//   const BoostGraph graph(view);
//   std::vector<NodeId> reversed;
//   boost::topological_sort(graph, std::back_inserter(reversed),
//                           boost::vertex_index_map(NodeIndexMap{}));
//
// Include it only where a graph algorithm runs: Boost.Graph's headers are large.
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <utility>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Result `value` flows into operand `operand` of `user`.
struct Edge {
  Value value;
  NodeId user;
  std::uint32_t operand = 0;
  friend constexpr auto operator<=>(const Edge&, const Edge&) = default;
};

/// A graph as Boost.Graph sees it. Boost's concepts want graphs that can be default-made and
/// copied, which an interface cannot be: this is a reference to one that can. The graph must
/// outlive it.
class BoostGraph {
 public:
  BoostGraph() = default;
  explicit BoostGraph(const GraphView& view) noexcept : view_(&view) {}
  [[nodiscard]] const GraphView& view() const noexcept { return *view_; }

 private:
  const GraphView* view_ = nullptr;
};

/// vertex_index: below `GraphView::index_bound()`, with holes where nodes were erased.
struct NodeIndexMap {
  using key_type = NodeId;
  using value_type = std::size_t;
  using reference = std::size_t;
  using category = boost::readable_property_map_tag;
  friend std::size_t get(NodeIndexMap, NodeId node) noexcept { return node.index; }
};

namespace bgl {

class NodeIterator : public boost::iterator_facade<NodeIterator, const NodeId,
                                                   boost::forward_traversal_tag, NodeId> {
 public:
  NodeIterator() = default;
  NodeIterator(const GraphView& graph, std::uint32_t index) : graph_(&graph), index_(index) {
    skip();
  }

 private:
  friend class boost::iterator_core_access;
  void skip() {
    while (index_ < graph_->index_bound() && !graph_->node_at(index_).is_valid()) ++index_;
  }
  void increment() {
    ++index_;
    skip();
  }
  [[nodiscard]] bool equal(const NodeIterator& other) const { return index_ == other.index_; }
  [[nodiscard]] NodeId dereference() const { return graph_->node_at(index_); }

  const GraphView* graph_ = nullptr;
  std::uint32_t index_ = 0;
};

class OutEdgeIterator : public boost::iterator_facade<OutEdgeIterator, const Edge,
                                                      boost::forward_traversal_tag, Edge> {
 public:
  OutEdgeIterator() = default;
  OutEdgeIterator(NodeId source, const Use* use) : source_(source), use_(use) {}

 private:
  friend class boost::iterator_core_access;
  void increment() { ++use_; }
  [[nodiscard]] bool equal(const OutEdgeIterator& other) const { return use_ == other.use_; }
  [[nodiscard]] Edge dereference() const {
    return {{source_, use_->result}, use_->user, use_->operand};
  }

  NodeId source_;
  const Use* use_ = nullptr;
};

/// Skips absent operands.
class InEdgeIterator : public boost::iterator_facade<InEdgeIterator, const Edge,
                                                     boost::forward_traversal_tag, Edge> {
 public:
  InEdgeIterator() = default;
  InEdgeIterator(NodeId user, std::span<const Value> operands, std::size_t position)
      : user_(user), operands_(operands), position_(position) {
    skip();
  }

 private:
  friend class boost::iterator_core_access;
  void skip() {
    while (position_ < operands_.size() && operands_[position_].is_absent()) ++position_;
  }
  void increment() {
    ++position_;
    skip();
  }
  [[nodiscard]] bool equal(const InEdgeIterator& other) const {
    return position_ == other.position_;
  }
  [[nodiscard]] Edge dereference() const {
    return {operands_[position_], user_, static_cast<std::uint32_t>(position_)};
  }

  NodeId user_;
  std::span<const Value> operands_;
  std::size_t position_ = 0;
};

/// All edges, node by node.
class EdgeIterator
    : public boost::iterator_facade<EdgeIterator, const Edge, boost::forward_traversal_tag, Edge> {
 public:
  EdgeIterator() = default;
  EdgeIterator(const GraphView& graph, NodeIterator node) : graph_(&graph), node_(node) {
    settle();
  }

 private:
  friend class boost::iterator_core_access;
  void settle() {
    const NodeIterator end(*graph_, graph_->index_bound());
    while (node_ != end && use_ == graph_->uses(*node_).size()) {
      ++node_;
      use_ = 0;
    }
  }
  void increment() {
    ++use_;
    settle();
  }
  [[nodiscard]] bool equal(const EdgeIterator& other) const {
    return node_ == other.node_ && use_ == other.use_;
  }
  [[nodiscard]] Edge dereference() const {
    const Use& use = graph_->uses(*node_)[use_];
    return {{*node_, use.result}, use.user, use.operand};
  }

  const GraphView* graph_ = nullptr;
  NodeIterator node_;
  std::size_t use_ = 0;
};

struct Category : virtual boost::bidirectional_graph_tag,
                  virtual boost::vertex_list_graph_tag,
                  virtual boost::edge_list_graph_tag {};

}  // namespace bgl

inline std::pair<bgl::NodeIterator, bgl::NodeIterator> vertices(const BoostGraph& graph) {
  return {bgl::NodeIterator(graph.view(), 0),
          bgl::NodeIterator(graph.view(), graph.view().index_bound())};
}
/// An upper bound where nodes were erased: Boost sizes its arrays by it, and indexes them by
/// NodeIndexMap.
inline std::size_t num_vertices(const BoostGraph& graph) { return graph.view().index_bound(); }

inline std::pair<bgl::OutEdgeIterator, bgl::OutEdgeIterator> out_edges(NodeId node,
                                                                       const BoostGraph& graph) {
  const auto uses = graph.view().uses(node);
  return {bgl::OutEdgeIterator(node, uses.data()),
          bgl::OutEdgeIterator(node, uses.data() + uses.size())};
}
inline std::size_t out_degree(NodeId node, const BoostGraph& graph) {
  return graph.view().uses(node).size();
}

inline std::pair<bgl::InEdgeIterator, bgl::InEdgeIterator> in_edges(NodeId node,
                                                                    const BoostGraph& graph) {
  const auto operands = graph.view().operands(node);
  return {bgl::InEdgeIterator(node, operands, 0),
          bgl::InEdgeIterator(node, operands, operands.size())};
}
inline std::size_t in_degree(NodeId node, const BoostGraph& graph) {
  std::size_t count = 0;
  for (const Value operand : graph.view().operands(node)) count += operand.is_absent() ? 0U : 1U;
  return count;
}
inline std::size_t degree(NodeId node, const BoostGraph& graph) {
  return in_degree(node, graph) + out_degree(node, graph);
}

inline std::pair<bgl::EdgeIterator, bgl::EdgeIterator> edges(const BoostGraph& graph) {
  const auto [first, last] = vertices(graph);
  return {bgl::EdgeIterator(graph.view(), first), bgl::EdgeIterator(graph.view(), last)};
}
inline std::size_t num_edges(const BoostGraph& graph) {
  std::size_t count = 0;
  const auto [first, last] = vertices(graph);
  for (auto node = first; node != last; ++node) count += out_degree(*node, graph);
  return count;
}

inline NodeId source(const Edge& edge, const BoostGraph& /*graph*/) { return edge.value.node; }
inline NodeId target(const Edge& edge, const BoostGraph& /*graph*/) { return edge.user; }

inline NodeIndexMap get(boost::vertex_index_t /*tag*/, const BoostGraph& /*graph*/) { return {}; }
inline std::size_t get(boost::vertex_index_t /*tag*/, const BoostGraph& /*graph*/, NodeId node) {
  return node.index;
}

}  // namespace quadrant::inline v0

namespace boost {

template <>
struct graph_traits<quadrant::BoostGraph> {
  using vertex_descriptor = quadrant::NodeId;
  using edge_descriptor = quadrant::Edge;
  using directed_category = bidirectional_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  using traversal_category = quadrant::bgl::Category;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using vertex_iterator = quadrant::bgl::NodeIterator;
  using out_edge_iterator = quadrant::bgl::OutEdgeIterator;
  using in_edge_iterator = quadrant::bgl::InEdgeIterator;
  using edge_iterator = quadrant::bgl::EdgeIterator;
  using adjacency_iterator = void;
  static vertex_descriptor null_vertex() { return {}; }
};

template <>
struct property_map<quadrant::BoostGraph, vertex_index_t> {
  using type = quadrant::NodeIndexMap;
  using const_type = quadrant::NodeIndexMap;
};

}  // namespace boost
