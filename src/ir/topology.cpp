#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/topological_sort.hpp>
#include <cstdint>

#include "quadrant/ir/bgl.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

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

// The nodes by index, if that is a topological order already: most graphs are built so, and passes
// over them then walk through memory in order. Empty otherwise.
std::vector<NodeId> order_of_building(const GraphView& graph) {
  std::vector<NodeId> order;
  order.reserve(graph.index_bound());
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    for (const Value operand : graph.operands(node)) {
      if (!operand.is_absent() && operand.node.index >= i) return {};
    }
    order.push_back(node);
  }
  return order;
}

tl::unexpected<Error> cycle_through(const GraphView& graph, NodeId node) {
  return fail(ErrorCode::invalid_model, "the graph has a cycle through this node",
              {.file = {}, .node = std::string(graph.name(node)), .tensor = {}, .offset = {}});
}

}  // namespace

Expected<std::vector<NodeId>> topological_order(const GraphView& graph) {
  std::vector<NodeId> order = order_of_building(graph);
  if (!order.empty()) return order;
  order.reserve(graph.index_bound());
  NodeId on_cycle;
  std::vector<boost::default_color_type> colors(graph.index_bound());
  auto output = std::back_inserter(order);
  boost::depth_first_search(
      BoostGraph(graph),
      boost::visitor(TopologicalVisitor<decltype(output)>(output, on_cycle))
          .vertex_index_map(NodeIndexMap{})
          .color_map(boost::make_iterator_property_map(colors.data(), NodeIndexMap{})));
  if (on_cycle.is_valid()) return cycle_through(graph, on_cycle);
  std::ranges::reverse(order);
  return order;
}

Expected<std::vector<NodeId>> order_of_making(const GraphView& graph) {
  enum class Mark : std::uint8_t { none, open, done };
  std::vector<Mark> marks(graph.index_bound(), Mark::none);
  std::vector<NodeId> order;
  order.reserve(graph.index_bound());
  struct Step {
    NodeId node;
    std::uint32_t operand;
  };
  std::vector<Step> path;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId root = graph.node_at(index);
    if (!root.is_valid() || marks[index] != Mark::none) continue;
    marks[index] = Mark::open;
    path.push_back({root, 0});
    while (!path.empty()) {
      Step& step = path.back();
      const auto operands = graph.operands(step.node);
      if (step.operand == operands.size()) {
        marks[step.node.index] = Mark::done;
        order.push_back(step.node);
        path.pop_back();
        continue;
      }
      const NodeId needed = operands[step.operand++].node;
      if (!needed.is_valid() || marks[needed.index] == Mark::done) continue;
      if (marks[needed.index] == Mark::open) return cycle_through(graph, needed);
      marks[needed.index] = Mark::open;
      path.push_back({needed, 0});
    }
  }
  return order;
}

std::vector<std::uint8_t> of_constants_alone(const GraphView& graph,
                                             const std::vector<NodeId>& order) {
  std::vector<std::uint8_t> is_weight(graph.index_bound(), 0);
  for (const NodeId node : order) {
    const std::string_view kind = graph.kind(node);
    if (kind == ops::Input::kind || kind == ops::Output::kind) continue;
    const bool is_of_weights = std::ranges::all_of(graph.operands(node), [&](Value operand) {
      return operand.is_absent() || is_weight[operand.node.index] != 0;
    });
    is_weight[node.index] = is_of_weights ? 1 : 0;
  }
  return is_weight;
}

}  // namespace quadrant::inline v0
