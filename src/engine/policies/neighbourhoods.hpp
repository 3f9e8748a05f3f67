// A better assignment by exact solutions of parts of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policies/elimination.hpp"
#include "engine/policies/factor_graph.hpp"

namespace quadrant::inline v0 {

/// Keeps scratch memory between calls: one object for many of them, one thread.
class Neighbourhoods {
 public:
  explicit Neighbourhoods(const FactorGraph& graph)
      : graph_(&graph),
        is_met_(graph.variable_count(), 0),
        is_covered_(graph.variable_count(), 0) {}

  /// Frees one neighbourhood of variables after another, all of `component` in turn, and sets it to
  /// what is worth most while the rest is held; until nothing improves, or for a few rounds.
  /// `assignment` must be possible, and stays so; it is never worth less. Linear in the component,
  /// but that a variable of many factors costs all of them in each neighbourhood that has it.
  void improve(std::span<const VariableId> component, Elimination& elimination,
               Assignment& assignment);

 private:
  /// The `size` variables nearest to `seed`.
  [[nodiscard]] const std::vector<VariableId>& around(VariableId seed, std::size_t size);
  void meet_neighbours(VariableId variable, std::size_t size);

  const FactorGraph* graph_;
  std::vector<std::uint8_t> is_met_;      // by variable: 0 between calls
  std::vector<std::uint8_t> is_covered_;  // by variable, of the component
  std::vector<VariableId> near_;
};

}  // namespace quadrant::inline v0
