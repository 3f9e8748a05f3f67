#include "engine/policies/neighbourhoods.hpp"

namespace quadrant::inline v0 {

void Neighbourhoods::improve(std::span<const VariableId> component, Elimination& elimination,
                             Assignment& assignment) {
  constexpr int most_rounds = 4;
  constexpr std::size_t largest = 512;
  constexpr std::size_t smallest = 8;
  constexpr EliminationLimits limits{.table = std::size_t{1} << 13U,
                                     .total = std::size_t{1} << 17U};
  bool is_better = true;
  for (int round = 0; is_better && round < most_rounds; ++round) {
    is_better = false;
    for (const VariableId variable : component) is_covered_[variable] = 0;
    // Each round begins elsewhere, so that what was a border comes to lie inside.
    const std::size_t offset = component.size() * static_cast<std::size_t>(round) / most_rounds;
    for (std::size_t i = 0; i < component.size(); ++i) {
      const VariableId seed = component[(i + offset) % component.size()];
      if (is_covered_[seed] != 0) continue;
      is_covered_[seed] = 1;
      for (std::size_t size = largest; size >= smallest; size /= 4) {
        const std::vector<VariableId>& free = around(seed, size);
        std::vector<std::uint32_t> before;
        before.reserve(free.size());
        for (const VariableId variable : free) before.push_back(assignment[variable]);
        if (!elimination.maximize(free, limits, assignment)) continue;
        for (std::size_t at = 0; at < free.size(); ++at) {
          is_better |= assignment[free[at]] != before[at];
          is_covered_[free[at]] = 1;
        }
        break;
      }
    }
  }
}

// In breadth.
const std::vector<VariableId>& Neighbourhoods::around(VariableId seed, std::size_t size) {
  near_.assign(1, seed);
  is_met_[seed] = 1;
  for (std::size_t next = 0; next < near_.size() && near_.size() < size; ++next) {
    meet_neighbours(near_[next], size);
  }
  for (const VariableId variable : near_) is_met_[variable] = 0;
  return near_;
}

void Neighbourhoods::meet_neighbours(VariableId variable, std::size_t size) {
  for (const FactorId id : graph_->factors_of(variable)) {
    for (const VariableId neighbour : graph_->factor(id).scope) {
      if (is_met_[neighbour] != 0) continue;
      is_met_[neighbour] = 1;
      near_.push_back(neighbour);
      if (near_.size() == size) return;
    }
  }
}

}  // namespace quadrant::inline v0
