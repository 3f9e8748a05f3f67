#include "quadrant/engine/scope.hpp"

#include <algorithm>
#include <cstdint>
#include <range/v3/view/reverse.hpp>

namespace quadrant::inline v0 {

Vetoes restrict_to(const GraphView& graph, const std::vector<NodeId>& order,
                   const Eligibility& eligibility, const std::vector<NodeId>& included,
                   const std::string& reason) {
  const auto is_quantizable = [&](Value value) {
    return eligibility.furthest_state(value) == State::Quantizable;
  };
  std::vector<std::uint8_t> serves(graph.index_bound(), 0);
  for (const NodeId node : included) serves[node.index] = 1;
  Vetoes vetoes;
  for (const NodeId node : order | ranges::views::reverse) {
    for (const Use& use : graph.uses(node)) {
      if (!is_quantizable({node, use.result})) continue;
      serves[node.index] |= serves[use.user.index];
    }
    const bool is_root = graph.result_count(node) > 0 && is_quantizable({node, 0}) &&
                         std::ranges::all_of(graph.operands(node), &Value::is_absent);
    if (is_root && serves[node.index] == 0) vetoes.emplace(node, reason);
  }
  return vetoes;
}

}  // namespace quadrant::inline v0
