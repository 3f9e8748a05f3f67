#include "engine/policies/factor_graph.hpp"

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

VariableId FactorGraph::add_variable(std::uint32_t states) {
  states_.push_back(states);
  return static_cast<VariableId>(states_.size() - 1);
}

void FactorGraph::add_factor(std::span<const VariableId> scope, std::span<const Worth> table) {
  [[maybe_unused]] std::size_t entries = 1;
  for (const VariableId variable : scope) entries *= states_[variable];
  QUADRANT_ASSERT(entries == table.size());
  scopes_.insert(scopes_.end(), scope.begin(), scope.end());
  tables_.insert(tables_.end(), table.begin(), table.end());
  first_scope_.push_back(scopes_.size());
  first_entry_.push_back(tables_.size());
}

void FactorGraph::freeze() {
  first_use_.assign(states_.size() + 1, 0);
  for (const VariableId variable : scopes_) ++first_use_[variable + 1];
  for (std::size_t i = 0; i < states_.size(); ++i) first_use_[i + 1] += first_use_[i];
  uses_.resize(scopes_.size());
  std::vector<std::size_t> next(first_use_.begin(), first_use_.end() - 1);
  for (FactorId id = 0; id < factor_count(); ++id) {
    for (const VariableId variable : factor(id).scope) uses_[next[variable]++] = id;
  }
}

Worth FactorGraph::worth(FactorId id, const Assignment& assignment) const noexcept {
  const FactorView view = factor(id);
  std::size_t at = 0;
  for (const VariableId variable : view.scope) at = at * states_[variable] + assignment[variable];
  return view.table[at];
}

Worth FactorGraph::worth(const Assignment& assignment) const noexcept {
  Worth total;
  for (FactorId id = 0; id < factor_count(); ++id) total += worth(id, assignment);
  return total;
}

Worth FactorGraph::worth(std::span<const VariableId> component,
                         const Assignment& assignment) const noexcept {
  Worth total;
  for (const VariableId variable : component) {
    for (const FactorId id : factors_of(variable)) {
      if (factor(id).scope.front() == variable) total += worth(id, assignment);  // each once
    }
  }
  return total;
}

}  // namespace quadrant::inline v0
