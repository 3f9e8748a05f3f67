// The exact solver: variable elimination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policies/factor_graph.hpp"

namespace quadrant::inline v0 {

/// How much work and memory an elimination may take.
struct EliminationLimits {
  std::size_t table = std::size_t{1} << 20U;  ///< entries of one table
  std::size_t total = std::size_t{1} << 24U;  ///< entries of all tables together
};

/// Finds best assignments of some variables, the others being held. Time and memory are linear in
/// the sum of the tables, which grow with the treewidth of what is free, not with its size. Keeps
/// scratch memory between calls: one object for many of them, one thread.
///
/// Rina Dechter: Bucket elimination, a unifying framework for reasoning. Artificial Intelligence
/// 113 (1999).
class Elimination {
 public:
  explicit Elimination(const FactorGraph& graph)
      : graph_(&graph), local_(graph.variable_count(), held), is_met_(graph.factor_count(), 0) {}

  /// Sets the variables `free`, each given once, to what is worth most, the others being as in
  /// `assignment`. False where the limits do not allow it, or nothing is possible: then
  /// `assignment` is as it was.
  [[nodiscard]] bool maximize(std::span<const VariableId> free, const EliminationLimits& limits,
                              Assignment& assignment);

 private:
  static constexpr std::uint32_t held = static_cast<std::uint32_t>(-1);

  // Variables are positions in the order of elimination; a scope ascends.
  struct Table {
    std::vector<std::uint32_t> scope;
    std::vector<Worth> entries;
  };
  struct Step {
    std::vector<std::uint32_t> scope;   // what the best state depends on
    std::vector<std::uint16_t> states;  // the best, by the scope's states
  };

  void collect_factors(std::span<const VariableId> free);
  [[nodiscard]] std::vector<VariableId> find_order(std::span<const VariableId> free) const;
  [[nodiscard]] Table restrict(FactorId id, const Assignment& assignment) const;
  [[nodiscard]] bool fits(const EliminationLimits& limits) const;
  [[nodiscard]] std::size_t size_of(std::span<const std::uint32_t> scope, std::size_t limit) const;
  [[nodiscard]] Table eliminate(std::uint32_t position, const std::vector<Table>& tables,
                                std::vector<std::uint32_t> scope, Step& step) const;

  const FactorGraph* graph_;
  std::vector<std::uint32_t> local_;  // by variable: its place among the free ones, or `held`
  std::vector<std::uint8_t> is_met_;  // by factor
  std::vector<FactorId> factors_;     // with a free variable
  std::vector<VariableId> order_;
};

}  // namespace quadrant::inline v0
