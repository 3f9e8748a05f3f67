#include "pipeline/float_islands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

struct Island {
  std::vector<NodeId> nodes;
  std::vector<NodeId> without_codes;
  std::set<Value> entered;  // real values that a dequantize made
  std::set<Value> left;     // real values that a quantize reads
};

class IslandFinder {
 public:
  IslandFinder(const Graph& graph, const Registry& registry, const std::vector<NodeId>& order)
      : graph_(graph),
        registry_(registry),
        order_(order),
        is_constant_(of_constants_alone(graph, order)),
        leader_(graph.index_bound()) {}

  std::vector<Island> find() {
    for (const NodeId node : order_) join(node);
    std::map<std::uint32_t, Island> islands;
    for (const NodeId node : order_) {
      if (computes(node)) add(node, islands[root(node.index)]);
    }
    std::vector<Island> found;
    for (auto& [index, island] : islands) {
      const bool is_one =
          !island.without_codes.empty() && !island.entered.empty() && !island.left.empty();
      if (is_one) found.push_back(std::move(island));
    }
    std::ranges::stable_sort(found, [](const Island& a, const Island& b) {
      return a.entered.size() + a.left.size() > b.entered.size() + b.left.size();
    });
    return found;
  }

 private:
  [[nodiscard]] bool computes(NodeId node) const {
    const std::string_view kind = graph_.kind(node);
    return is_constant_[node.index] == 0 && kind != ops::Input::kind && kind != ops::Output::kind &&
           kind != ops::Quantize::kind && kind != ops::Dequantize::kind &&
           is_float(graph_.type({node}).element) && !graph_.type({node}).is_quantized();
  }

  void join(NodeId node) {
    leader_[node.index] = node.index;
    if (!computes(node)) return;
    for (const Value operand : graph_.operands(node)) {
      if (!operand.is_absent() && computes(operand.node)) {
        leader_[root(operand.node.index)] = root(node.index);
      }
    }
  }

  void add(NodeId node, Island& island) const {
    island.nodes.push_back(node);
    if (registry_.find(graph_.ref(node)) == nullptr) island.without_codes.push_back(node);
    for (const Value operand : graph_.operands(node)) {
      const bool is_dequantized = !operand.is_absent() && is_constant_[operand.node.index] == 0 &&
                                  graph_.kind(operand.node) == ops::Dequantize::kind;
      if (is_dequantized) island.entered.insert(operand);
    }
    for (const Use& use : graph_.uses(node)) {
      if (graph_.kind(use.user) == ops::Quantize::kind) island.left.insert({node, use.result});
    }
  }

  [[nodiscard]] std::uint32_t root(std::uint32_t index) {
    while (leader_[index] != index) {
      leader_[index] = leader_[leader_[index]];
      index = leader_[index];
    }
    return index;
  }

  const Graph& graph_;
  const Registry& registry_;
  const std::vector<NodeId>& order_;
  std::vector<std::uint8_t> is_constant_;
  std::vector<std::uint32_t> leader_;  // of nodes that hand on real values, by index
};

}  // namespace

Expected<std::vector<Cause>> float_islands(const Graph& quantized) {
  const SchemeChoice choice{"static_affine", "static_affine", {}};
  QUADRANT_TRY(const Registry registry, make_registry(std::vector{choice}));
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(quantized));
  std::vector<Cause> causes;
  for (const Island& island : IslandFinder(quantized, registry, order).find()) {
    const NodeId first = island.without_codes.front();
    causes.push_back(
        {.name = std::string(label(quantized, first)),
         .kind = CauseKind::float_island,
         .found = fmt::format("{} in float, since {} is not computed on codes: {} from codes "
                              "in front and {} to codes behind take time, and lose no accuracy",
                              counted(island.nodes.size(), "operation"), quantized.kind(first),
                              counted(island.entered.size(), "conversion"),
                              counted(island.left.size(), "conversion"))});
  }
  return causes;
}

}  // namespace quadrant::inline v0
