// Patterns that people write, of names to include or to exclude, as vetoes that the engine reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Regular expressions (RE2) that match somewhere in the name of a node or of a value: of what a
/// node makes, a weight, an input or an output. docs/command.md says what that means.
struct ScopeOptions {
  std::vector<std::string> include;  ///< empty: everything
  std::vector<std::string> exclude;

  [[nodiscard]] bool is_given() const noexcept { return !(include.empty() && exclude.empty()); }
};

/// How many of the patterns, the first ones, are those of a recipe; the others are of options.
struct ScopeOrigin {
  std::string recipe;  ///< the file that it came from
  std::size_t include = 0;
  std::size_t exclude = 0;
};

/// What the patterns leave out of a run.
struct Scope {
  Vetoes vetoes;
  ValueVetoes value_vetoes;
};

/// Whether the patterns are regular expressions: to be asked before a model is read.
[[nodiscard]] Expected<void> check_patterns(const ScopeOptions& options);

/// What to veto. A pattern that matches nothing is a `usage` error with near names: what it was
/// meant for would silently be treated like everything else.
[[nodiscard]] Expected<Scope> find_scope(const Graph& graph, const Registry& registry,
                                         const ScopeOptions& options, const ScopeOrigin& origin);

}  // namespace quadrant::inline v0
