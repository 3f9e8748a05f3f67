#include "engine/optimum.hpp"

#include <boost/pending/disjoint_sets.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "engine/dual_bound.hpp"
#include "engine/neighbourhoods.hpp"

namespace quadrant::inline v0 {
namespace {

// Variables that a chain of factors connects, in ascending order.
std::vector<std::vector<VariableId>> find_components(const FactorGraph& graph) {
  const std::uint32_t count = graph.variable_count();
  std::vector<std::uint32_t> rank(count);
  std::vector<std::uint32_t> parent(count);
  boost::disjoint_sets together(rank.data(), parent.data());
  for (VariableId variable = 0; variable < count; ++variable) together.make_set(variable);
  for (FactorId id = 0; id < graph.factor_count(); ++id) {
    const auto scope = graph.factor(id).scope;
    for (const VariableId variable : scope) together.union_set(scope.front(), variable);
  }
  std::vector<std::uint32_t> number(count, count);
  std::vector<std::vector<VariableId>> components;
  for (VariableId variable = 0; variable < count; ++variable) {
    std::uint32_t& of = number[together.find_set(variable)];
    if (of == count) {
      of = static_cast<std::uint32_t>(components.size());
      components.emplace_back();
    }
    components[of].push_back(variable);
  }
  return components;
}

}  // namespace

Optimum find_optimum(const FactorGraph& graph, Assignment start, ComponentSolver solver,
                     const EliminationLimits& limits) {
  Optimum found{std::move(start), {}};
  Elimination elimination(graph);
  for (const std::vector<VariableId>& component : find_components(graph)) {
    std::optional<Gain> bound;  // what the solver knows is better than the dual
    const auto ask_solver = [&] {
      bound = solver(component, found.assignment);
      return bound && *bound == graph.worth(component, found.assignment).gain;
    };
    const bool is_large = component.size() > large_component;
    const bool is_solved = (is_large && ask_solver()) ||
                           elimination.maximize(component, limits, found.assignment) ||
                           (!is_large && ask_solver());
    if (!is_solved) improve_by_neighbourhoods(graph, component, elimination, found.assignment);
    const Gain reached = graph.worth(component, found.assignment).gain;
    if (is_solved) {
      found.bound += reached;
    } else {
      found.bound += bound ? *bound : dual_bound(graph, component, reached);
    }
  }
  return found;
}

}  // namespace quadrant::inline v0
