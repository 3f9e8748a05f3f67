#include "engine/phases/canonical_order.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "engine/phases/sort_by_name.hpp"

namespace quadrant::inline v0 {
namespace {

struct Named {
  std::string_view name;
  NodeId node;
};

// Values have unique names; a node without results is told from others by its own.
std::string_view canonical_name(const GraphView& graph, NodeId node) {
  return graph.result_count(node) > 0 ? graph.value_name({node, 0}) : graph.name(node);
}

std::vector<Named> nodes_by_name(const GraphView& graph, const std::vector<NodeId>& nodes) {
  std::vector<Named> named;
  named.reserve(nodes.size());
  for (const NodeId node : nodes) named.push_back({canonical_name(graph, node), node});
  sort_by_name(named, &Named::name);
  return named;
}

// By node index: how many nodes the longest way to it has.
std::vector<std::uint32_t> find_depths(const GraphView& graph, const std::vector<NodeId>& order) {
  std::vector<std::uint32_t> depths(graph.index_bound(), 0);
  for (const NodeId node : order) {
    std::uint32_t& depth = depths[node.index];
    for (const Value operand : graph.operands(node)) {
      if (!operand.is_absent()) depth = std::max(depth, depths[operand.node.index] + 1);
    }
  }
  return depths;
}

}  // namespace

std::vector<NodeId> canonical_order(const GraphView& graph, const std::vector<NodeId>& order) {
  const std::vector<std::uint32_t> depths = find_depths(graph, order);
  // By counting how many are less deep, which keeps the order of the names.
  std::vector<std::size_t> place(graph.index_bound() + 1, 0);
  for (const NodeId node : order) ++place[depths[node.index] + 1];
  for (std::size_t depth = 1; depth < place.size(); ++depth) place[depth] += place[depth - 1];
  std::vector<NodeId> canonical(order.size());
  for (const auto& [name, node] : nodes_by_name(graph, order)) {
    canonical[place[depths[node.index]]++] = node;
  }
  return canonical;
}

}  // namespace quadrant::inline v0
