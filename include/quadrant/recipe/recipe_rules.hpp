// What the rules of a recipe mean for one graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// One rule of a recipe on one graph.
struct RuleEffect {
  std::vector<std::string> schemes;  ///< those it gives what it decides to; none: float
  std::uint64_t matched = 0;         ///< nodes; constants are nodes, too
  std::uint64_t decided = 0;         ///< of these, those that no later rule matches
  std::vector<Value> weights;        ///< of those that it decides, the real constants
};

struct RuleDecisions {
  std::vector<SchemeChoice> schemes;  ///< all that run, those of rules alone included
  SchemeVetoes vetoes;                ///< for `QuantizeOptions`; reasons name the rule
  ValueVetoes value_vetoes;           ///< the same
  std::vector<RuleEffect> effects;    ///< of each rule
};

/// Finds what each rule matches, and what that forbids which scheme. `file` is what reasons and
/// errors call the recipe.
///
/// A weight (a constant, or what is computed of constants alone) matches where it has the type and
/// the size, and it or one of those that read it has the name, the kind and the place in the
/// subgraph; it is given to the schemes of the last rule that does. An operation matches by its own
/// name, kind, type of result and place, never by a size; it may use the schemes of its own last
/// rule and those of the weights that it reads. What no rule matches may have any of the recipe's
/// schemes. A rule that leaves in float what it names by a value, not by the operation that makes
/// it, does so for all who read the value.
///
/// A rule that matches nothing, and a name of the subgraph that no value has, are `usage` errors,
/// with near names; so is a kind that neither the graph has nor a scheme knows.
/// `O(rules * (nodes + edges))`.
[[nodiscard]] Expected<RuleDecisions> apply_rules(const GraphView& graph, const Recipe& recipe,
                                                  std::string_view file,
                                                  const SchemeTable& schemes = known_schemes());

}  // namespace quadrant::inline v0
