#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "quadrant/support/ranks.hpp"
#include "quadrant/targets/runtime_profile.hpp"
#include "targets/data_flow.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

// Divides one graph. Everything beside the graph is by node index.
class Division {
 public:
  Division(const GraphView& graph, const std::vector<NodeId>& order, const SubnetSplit& split)
      : graph_(graph),
        order_(order),
        kinds_(split.takes.begin(), split.takes.end()),
        varying_(find_varying(graph, order)),
        computed_by_(graph.index_bound(), nobody),
        level_(graph.index_bound(), 0),
        rank_(graph.index_bound(), 0),
        parent_(graph.index_bound()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  std::vector<Subnet> run() {
    boost::disjoint_sets sets(rank_.data(), parent_.data());
    for (const NodeId node : order_) {
      if (!varying_[node.index]) continue;
      if (const Value data = represented(node); !data.is_absent()) {
        computed_by_[node.index] = computed_by_[data.node.index];
      } else if (is_operation(node)) {
        computed_by_[node.index] = node.index;
        find_level(node);
        for_each_producer(node, [&](std::uint32_t producer) {
          if (level_[producer] == level_[node.index]) sets.union_set(producer, node.index);
        });
      }
    }
    return collect(sets);
  }

 private:
  [[nodiscard]] bool is_operation(NodeId node) const {
    const std::string_view kind = graph_.kind(node);
    return kind != ops::Input::kind && kind != ops::Output::kind;
  }

  [[nodiscard]] bool goes_first(NodeId node) const { return kinds_.contains(graph_.kind(node)); }

  // The operand of a node that says how it is represented and nothing else; absent for others. With
  // scales that are computed, it is an operation like any other.
  [[nodiscard]] Value represented(NodeId node) const {
    const std::string_view kind = graph_.kind(node);
    const auto operands = graph_.operands(node);
    if (operands.empty() ||
        !(makes_codes(kind) || makes_reals(kind) || kind == ops::StorageCast::kind)) {
      return {};
    }
    const auto others = operands.subspan(1);
    const bool is_fixed = std::ranges::none_of(others, [&](Value operand) {
      return !operand.is_absent() && varying_[operand.node.index];
    });
    return is_fixed ? operands[0] : Value{};
  }

  template <class Visit>
  void for_each_producer(NodeId node, Visit visit) const {
    for (const Value operand : graph_.operands(node)) {
      if (operand.is_absent()) continue;
      const std::uint32_t producer = computed_by_[operand.node.index];
      if (producer != nobody) visit(producer);
    }
  }

  // Even for the first half, odd for the second, so that a level belongs to one of them.
  void find_level(NodeId node) {
    const std::uint32_t parity = goes_first(node) ? 0 : 1;
    std::uint32_t level = parity;
    for_each_producer(node, [&](std::uint32_t producer) {
      const std::uint32_t least = level_[producer];
      level = std::max(level, least + (least % 2 == parity ? 0U : 1U));
    });
    level_[node.index] = level;
  }

  template <class Sets>
  std::vector<Subnet> collect(Sets& sets) const {
    // By level, in each by the first node: the order in which they can be computed.
    std::uint32_t levels = 0;
    for (const std::uint32_t level : level_) levels = std::max(levels, level + 1);
    std::vector<std::vector<std::size_t>> of_level(levels);
    std::vector<Subnet> found;
    std::vector<std::uint32_t> place(graph_.index_bound(), nobody);
    for (const NodeId node : order_) {
      if (computed_by_[node.index] != node.index) continue;
      std::uint32_t& subnet = place[sets.find_set(node.index)];
      if (subnet == nobody) {
        subnet = static_cast<std::uint32_t>(found.size());
        of_level[level_[node.index]].push_back(found.size());
        found.push_back({.is_first = level_[node.index] % 2 == 0, .nodes = {}, .parameters = {}});
      }
      found[subnet].nodes.push_back(node);
    }
    std::vector<Subnet> sorted;
    sorted.reserve(found.size());
    for (const auto& level : of_level) {
      for (const std::size_t subnet : level) sorted.push_back(std::move(found[subnet]));
    }
    return sorted;
  }

  const GraphView& graph_;
  const std::vector<NodeId>& order_;
  std::unordered_set<std::string_view> kinds_;
  std::vector<bool> varying_;
  std::vector<std::uint32_t> computed_by_;  // the operation behind nodes that only represent
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> parent_;
};

// Parameters that are reached from a node through nodes that do not vary. Each counts once for all
// subnets, so that the walks are linear together.
class ParameterCounter {
 public:
  ParameterCounter(const GraphView& graph, const std::vector<NodeId>& order,
                   const std::vector<Parameter>& parameters)
      : graph_(graph),
        varying_(find_varying(graph, order)),
        seen_(graph.index_bound(), false),
        by_node_(graph.index_bound(), nullptr) {
    for (const Parameter& parameter : parameters) by_node_[parameter.node.index] = &parameter;
  }

  ParameterTotals count(const std::vector<NodeId>& nodes) {
    ParameterTotals totals;
    std::vector<NodeId> waiting = nodes;
    while (!waiting.empty()) {
      const NodeId node = waiting.back();
      waiting.pop_back();
      if (const Parameter* parameter = by_node_[node.index]) totals.add(*parameter);
      for (const Value operand : graph_.operands(node)) {
        if (operand.is_absent() || varying_[operand.node.index] || seen_[operand.node.index]) {
          continue;
        }
        seen_[operand.node.index] = true;
        waiting.push_back(operand.node);
      }
    }
    return totals;
  }

 private:
  const GraphView& graph_;
  std::vector<bool> varying_;
  std::vector<bool> seen_;
  std::vector<const Parameter*> by_node_;
};

}  // namespace

std::vector<Subnet> divide(const GraphView& graph, const std::vector<NodeId>& order,
                           const SubnetSplit& split, const std::vector<Parameter>& parameters) {
  std::vector<Subnet> subnets = Division(graph, order, split).run();
  ParameterCounter counter(graph, order, parameters);
  for (Subnet& subnet : subnets) subnet.parameters = counter.count(subnet.nodes);
  return subnets;
}

}  // namespace quadrant::inline v0
