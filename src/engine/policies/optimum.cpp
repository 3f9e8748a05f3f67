#include "engine/policies/optimum.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "engine/policies/dual_bound.hpp"
#include "engine/policies/neighbourhoods.hpp"

namespace quadrant::inline v0 {
namespace {

// Up to so many variables of a component elimination is asked before a solver: it is fast, whatever
// comes of it, and it leaves nothing out, where a solver may know only some of what must hold.
// Beyond it may take longer to find that it does not fit than a solver needs.
constexpr std::size_t large_component = 4096;

struct Component {
  std::vector<VariableId> variables;
  std::optional<Gain> bound{};  // what the solver knows of it: better than the dual
  bool is_solved = false;
};

// Variables that a chain of factors connects, in ascending order.
std::vector<Component> find_components(const FactorGraph& graph) {
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
  std::vector<Component> components;
  for (VariableId variable = 0; variable < count; ++variable) {
    std::uint32_t& of = number[together.find_set(variable)];
    if (of == count) {
      of = static_cast<std::uint32_t>(components.size());
      components.emplace_back();
    }
    components[of].variables.push_back(variable);
  }
  return components;
}

// A solver may look at the whole graph to answer for one component, so it is asked for many at
// once. One that it cannot decide spoils the answer for all that it was asked for; so where
// something is left open, halves of it are asked for, those with more variables first. That takes a
// number of questions that grows with the logarithm of how many components there are, for each that
// stays open; and no more than `most_questions`, so that many of those do not cost more than they
// gain.
class Questions {
 public:
  Questions(const FactorGraph& graph, ComponentSolver solver, std::vector<Component*> open,
            Assignment& assignment)
      : graph_(graph), solver_(solver), assignment_(assignment), open_(std::move(open)) {
    std::ranges::stable_sort(open_, std::ranges::greater{}, [](const Component* component) {
      return component->variables.size();
    });
    variables_.reserve(open_.size() + 1);
    for (const Component* component : open_) {
      variables_.push_back(variables_.back() + component->variables.size());
    }
  }

  void run() {
    if (open_.empty()) return;
    std::priority_queue<Part> parts;
    const auto keep = [&](const Part& part) {
      if (part.end - part.begin > 1) parts.push(part);
    };
    if (const Part all = part(0, open_.size()); !is_solved(all)) keep(all);
    while (!parts.empty() && questions_ < most_questions) {
      const Part whole = parts.top();
      parts.pop();
      const std::size_t middle = middle_of(whole);
      const Part first = part(whole.begin, middle);
      const Part second = part(middle, whole.end);
      const bool is_in_second = is_solved(first);
      if (!is_in_second) keep(first);
      // What spoiled the answer for both is in the second then. One alone may have a bound.
      const bool is_known = is_in_second && second.end - second.begin > 1;
      if (is_known || !is_solved(second)) keep(second);
    }
  }

 private:
  static constexpr int most_questions = 64;

  // Components `begin` to `end` of the open ones.
  struct Part {
    std::size_t variables = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  [[nodiscard]] Part part(std::size_t begin, std::size_t end) const {
    return {variables_[end] - variables_[begin], begin, end};
  }
  // Where half of the variables are before it, of two components or more.
  [[nodiscard]] std::size_t middle_of(const Part& part) const {
    const std::size_t half = variables_[part.begin] + part.variables / 2;
    const auto found = std::ranges::lower_bound(variables_, half);
    return std::clamp(static_cast<std::size_t>(found - variables_.begin()), part.begin + 1,
                      part.end - 1);
  }

  // Asks, if that may still be. Takes what is better, component by component.
  [[nodiscard]] bool is_solved(const Part& part) {
    if (questions_ == most_questions) return false;
    ++questions_;
    const std::span<Component* const> asked =
        std::span(open_).subspan(part.begin, part.end - part.begin);
    std::vector<VariableId> variables;
    variables.reserve(part.variables);
    for (const Component* component : asked) {
      variables.insert(variables.end(), component->variables.begin(), component->variables.end());
    }
    Assignment proposed = assignment_;
    const std::optional<Gain> bound = solver_(variables, proposed);
    if (!bound) return false;
    for (const Component* component : asked) {
      const std::span<const VariableId> own = component->variables;
      if (graph_.worth(own, proposed) <= graph_.worth(own, assignment_)) continue;
      for (const VariableId variable : own) assignment_[variable] = proposed[variable];
    }
    if (asked.size() == 1) asked.front()->bound = bound;
    const bool is_best = *bound == graph_.worth(variables, assignment_).gain;
    for (Component* component : asked) component->is_solved = is_best;
    return is_best;
  }

  const FactorGraph& graph_;
  ComponentSolver solver_;
  Assignment& assignment_;
  std::vector<Component*> open_;              // large ones first
  std::vector<std::size_t> variables_ = {0};  // by open component: of those before it
  int questions_ = 0;
};

// Those that nobody has solved and that are large, or are small.
std::vector<Component*> open_ones(std::vector<Component>& components, bool are_large) {
  std::vector<Component*> open;
  for (Component& component : components) {
    const bool is_large = component.variables.size() > large_component;
    if (!component.is_solved && is_large == are_large) open.push_back(&component);
  }
  return open;
}

}  // namespace

Optimum find_optimum(const FactorGraph& graph, Assignment start, ComponentSolver solver,
                     const EliminationLimits& limits) {
  Optimum found{std::move(start), {}};
  Elimination elimination(graph);
  Neighbourhoods neighbourhoods(graph);
  std::vector<Component> components = find_components(graph);
  Questions(graph, solver, open_ones(components, true), found.assignment).run();
  for (Component& component : components) {
    component.is_solved =
        component.is_solved || elimination.maximize(component.variables, limits, found.assignment);
  }
  Questions(graph, solver, open_ones(components, false), found.assignment).run();
  for (const auto& [variables, bound, is_solved] : components) {
    if (!is_solved) neighbourhoods.improve(variables, elimination, found.assignment);
    const Gain reached = graph.worth(variables, found.assignment).gain;
    if (is_solved) {
      found.bound += reached;
    } else {
      found.bound += bound ? *bound : dual_bound(graph, variables, reached);
    }
  }
  return found;
}

}  // namespace quadrant::inline v0
