#include "quadrant/ir/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/topological_sort.hpp>

#include "quadrant/ir/bgl.hpp"

namespace quadrant::inline v0 {
namespace {

// BGL's own topological sort, but a cycle is noted where BGL would throw.
template <class Output>
class TopologicalVisitor : public boost::topo_sort_visitor<Output> {
 public:
  TopologicalVisitor(Output output, NodeId& on_cycle)
      : boost::topo_sort_visitor<Output>(output), on_cycle_(&on_cycle) {}

  void back_edge(const Edge& edge, const BoostGraph& /*graph*/) { *on_cycle_ = edge.user; }

 private:
  NodeId* on_cycle_;
};

}  // namespace

Expected<std::vector<NodeId>> topological_order(const GraphView& graph) {
  std::vector<NodeId> order;
  order.reserve(graph.index_bound());
  NodeId on_cycle;
  std::vector<boost::default_color_type> colors(graph.index_bound());
  auto output = std::back_inserter(order);
  boost::depth_first_search(
      BoostGraph(graph),
      boost::visitor(TopologicalVisitor<decltype(output)>(output, on_cycle))
          .vertex_index_map(NodeIndexMap{})
          .color_map(boost::make_iterator_property_map(colors.data(), NodeIndexMap{})));
  if (on_cycle.is_valid()) {
    return fail(
        ErrorCode::invalid_model, "the graph has a cycle through this node",
        {.file = {}, .node = std::string(graph.name(on_cycle)), .tensor = {}, .offset = {}});
  }
  std::ranges::reverse(order);
  return order;
}

}  // namespace quadrant::inline v0
