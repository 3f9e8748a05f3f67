#include "engine/neighbourhoods.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quadrant::inline v0 {
namespace {

// Grows neighbourhoods, in breadth.
class Neighbourhoods {
 public:
  explicit Neighbourhoods(const FactorGraph& graph)
      : graph_(&graph), is_met_(graph.variable_count(), 0) {}

  /// The `size` variables nearest to `seed`.
  [[nodiscard]] const std::vector<VariableId>& around(VariableId seed, std::size_t size) {
    near_.assign(1, seed);
    is_met_[seed] = 1;
    for (std::size_t next = 0; next < near_.size() && near_.size() < size; ++next) {
      for (const FactorId id : graph_->factors_of(near_[next])) {
        for (const VariableId variable : graph_->factor(id).scope) {
          if (is_met_[variable] != 0 || near_.size() >= size) continue;
          is_met_[variable] = 1;
          near_.push_back(variable);
        }
      }
    }
    for (const VariableId variable : near_) is_met_[variable] = 0;
    return near_;
  }

 private:
  const FactorGraph* graph_;
  std::vector<std::uint8_t> is_met_;
  std::vector<VariableId> near_;
};

}  // namespace

void improve_by_neighbourhoods(const FactorGraph& graph, std::span<const VariableId> component,
                               Elimination& elimination, Assignment& assignment) {
  constexpr int most_rounds = 4;
  constexpr std::size_t largest = 512;
  constexpr std::size_t smallest = 8;
  constexpr EliminationLimits limits{.table = std::size_t{1} << 13U,
                                     .total = std::size_t{1} << 17U};
  Neighbourhoods neighbourhoods(graph);
  std::vector<std::uint8_t> is_covered(graph.variable_count(), 0);
  bool is_better = true;
  for (int round = 0; is_better && round < most_rounds; ++round) {
    is_better = false;
    for (const VariableId variable : component) is_covered[variable] = 0;
    // Each round begins elsewhere, so that what was a border comes to lie inside.
    const std::size_t offset = component.size() * static_cast<std::size_t>(round) / most_rounds;
    for (std::size_t i = 0; i < component.size(); ++i) {
      const VariableId seed = component[(i + offset) % component.size()];
      if (is_covered[seed] != 0) continue;
      is_covered[seed] = 1;
      for (std::size_t size = largest; size >= smallest; size /= 4) {
        const std::vector<VariableId>& free = neighbourhoods.around(seed, size);
        std::vector<std::uint32_t> before;
        before.reserve(free.size());
        for (const VariableId variable : free) before.push_back(assignment[variable]);
        if (!elimination.maximize(free, limits, assignment)) continue;
        for (std::size_t at = 0; at < free.size(); ++at) {
          is_better |= assignment[free[at]] != before[at];
          is_covered[free[at]] = 1;
        }
        break;
      }
    }
  }
}

}  // namespace quadrant::inline v0
