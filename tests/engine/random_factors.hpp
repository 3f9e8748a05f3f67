// Random factor graphs, and all their assignments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "engine/policies/factor_graph.hpp"

namespace random_factors {

using namespace quadrant;

inline std::uint32_t below(std::mt19937& random, std::uint32_t end) {
  return static_cast<std::uint32_t>(random()) % end;
}

/// Some entries are impossible, though not those of states 0.
inline FactorGraph draw(std::mt19937& random, std::uint32_t variables, std::uint32_t factors) {
  FactorGraph graph;
  for (std::uint32_t i = 0; i < variables; ++i) graph.add_variable(1 + below(random, 4));
  for (std::uint32_t i = 0; i < factors; ++i) {
    std::vector<VariableId> scope;
    for (std::uint32_t arity = 1 + below(random, 3); arity > 0; --arity) {
      const VariableId variable = below(random, variables);
      if (std::ranges::find(scope, variable) == scope.end()) scope.push_back(variable);
    }
    std::size_t size = 1;
    for (const VariableId variable : scope) size *= graph.states(variable);
    std::vector<Worth> table;
    for (std::size_t at = 0; at < size; ++at) {
      const bool is_impossible = at > 0 && below(random, 6) == 0;
      const Worth worth{Gain{static_cast<std::int64_t>(below(random, 21)) - 10},
                        static_cast<std::int64_t>(random())};
      table.push_back(is_impossible ? Worth::impossible() : worth);
    }
    graph.add_factor(scope, table);
  }
  graph.freeze();
  return graph;
}

/// The best of all assignments in which the variables that are not `free` are as in `held`.
inline Worth best(const FactorGraph& graph, const std::vector<VariableId>& free, Assignment held) {
  for (const VariableId variable : free) held[variable] = 0;
  Worth best = Worth::impossible();
  while (true) {
    best = std::max(best, graph.worth(held));
    std::size_t at = 0;
    while (at < free.size() && ++held[free[at]] == graph.states(free[at])) held[free[at++]] = 0;
    if (at == free.size()) return best;
  }
}

inline std::vector<VariableId> all(const FactorGraph& graph) {
  std::vector<VariableId> variables(graph.variable_count());
  for (VariableId i = 0; i < graph.variable_count(); ++i) variables[i] = i;
  return variables;
}

}  // namespace random_factors
