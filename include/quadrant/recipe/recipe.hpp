// Recipes: all that a command line says about what to quantize and how, as a value and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// A recipe: all that a command line says about what to quantize and how, as a value.

/// What a rule matches. All conditions that are given must hold; without any, everything matches.
struct RuleMatch {
  /// A regular expression (RE2), looked for in the names of nodes, of the values that they make, of
  /// weights and of the operations that read a weight.
  std::optional<std::string> name{};
  std::vector<std::string> kinds{};  ///< operations: the node's, or a reader's of the weight
  std::vector<ElementType> types{};  ///< of floats, as the model has them
  std::optional<std::uint64_t> min_elements{};
  std::optional<std::uint64_t> max_elements{};
  std::optional<std::uint64_t> min_bytes{};  ///< in float, as the model has it
  std::optional<std::uint64_t> max_bytes{};
  std::vector<std::string> from{};  ///< values: nodes that are computed from one of them ...
  std::vector<std::string> to{};    ///< ... and that one of these is computed from

  [[nodiscard]] bool has_size() const noexcept {
    return min_elements || max_elements || min_bytes || max_bytes;
  }
  friend bool operator==(const RuleMatch&, const RuleMatch&) = default;
};

struct RecipeRule {
  RuleMatch match{};
  /// Names of the recipe's schemes, or of the table's; selection chooses between several. None:
  /// what matches stays float.
  std::vector<std::string> schemes{};
  OptionValues options{};  ///< besides those of the one scheme that is named
  bool may_match_nothing = false;

  friend bool operator==(const RecipeRule&, const RecipeRule&) = default;
};

struct Recipe {
  std::string description{};
  /// What the run chooses from wherever no rule says otherwise.
  std::vector<SchemeChoice> schemes{};
  std::vector<RecipeRule> rules{};  ///< the last that matches decides
  /// Transforms of the float model, and corrections: `recipe_model_options`.
  OptionValues model{};
  std::string gain{};      ///< empty: what suits the schemes
  std::string hardware{};  ///< of gain "latency": a profile's name, or a file; or empty
  std::string policy{};    ///< empty: `greedy`
  std::optional<double> target_bits{};  ///< a budget: bits a weight
  std::vector<std::string>
      include{};  ///< regular expressions, as --include and --exclude have them
  std::vector<std::string> exclude{};
  NonFinitePolicy non_finite = NonFinitePolicy::refuse;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// Most rules of a recipe.
inline constexpr std::size_t most_rules = 4096;

/// The gain models and the policies that a recipe can name.
[[nodiscard]] std::span<const std::string_view> recipe_gains();
[[nodiscard]] std::span<const std::string_view> recipe_policies();
/// Options that belong to a run, not to one of its schemes: `optimize`, `relu6`.
[[nodiscard]] std::span<const OptionSpec> recipe_model_options();
/// Those, and of their words those, that a run of this scheme alone takes: some know the codes of
/// schemes of the library.
[[nodiscard]] std::vector<OptionSpec> model_options_of(const SchemeEntry& scheme);
/// `usage` where a run of these schemes, of which there is one at least, cannot do what `model`
/// says: none of them takes it, or one that is not the library's does not.
[[nodiscard]] Expected<void> check_model_options(const OptionValues& model,
                                                 std::span<const SchemeEntry* const> schemes);

/// The recipe with every scheme that a rule alone names, or gives other options, among
/// `RuleSchemes::all`, and rules that name these and have no options.
struct RuleSchemes {
  std::vector<SchemeChoice> all{};                ///< those of the recipe first
  std::vector<std::vector<std::string>> rules{};  ///< the names in `all` of each rule
};
/// A scheme that rule N makes of another by options of its own is called `NAME.N`, unless there is
/// an equal one already.
[[nodiscard]] Expected<RuleSchemes> schemes_of(const Recipe& recipe,
                                               const SchemeTable& schemes = known_schemes());

/// That its schemes, rules and patterns are ones that there are: what shows without a model. Errors
/// say which rule, and are `usage`.
[[nodiscard]] Expected<void> check(const Recipe& recipe,
                                   const SchemeTable& schemes = known_schemes());

// What the rules of a recipe mean for one graph.

/// One rule of a recipe on one graph.
struct RuleEffect {
  std::vector<std::string> schemes;  ///< those it gives what it decides to; none: float
  std::uint64_t matched = 0;         ///< nodes; constants are nodes, too
  std::uint64_t decided = 0;         ///< of these, those that no later rule matches
  std::vector<Value> weights;        ///< of those that it decides, the float constants
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
/// it, does so for all readers of the value.
///
/// A rule that matches nothing, and a name of the subgraph that no value has, are `usage` errors,
/// with near names; so is a kind that neither the graph has nor a scheme knows.
/// `O(rules * (nodes + edges))`.
[[nodiscard]] Expected<RuleDecisions> apply_rules(const GraphView& graph, const Recipe& recipe,
                                                  std::string_view file,
                                                  const SchemeTable& schemes = known_schemes());

// Recipes with a name, which come with the library.

struct Preset {
  std::string_view name;
  std::string_view text;  ///< the recipe, as `parse_recipe` reads it
};

/// Sorted by name. Lives as long as the program.
[[nodiscard]] std::span<const Preset> presets();
/// The preset of that name; `usage`, with near names, where there is none.
[[nodiscard]] Expected<const Preset*> find_preset(std::string_view name);

// Recipes as JSON, for people to write. docs/recipes.md describes them, docs/recipe.schema.json is
// their JSON Schema.
//
//   {
//     "format": "quadrant.recipe",
//     "version": 1,
//     "schemes": {
//       "int8": {"scheme": "weight_only"},
//       "int4": {"scheme": "weight_only", "options": {"bits": 4, "block_size": 32}}
//     },
//     "rules": [
//       {"scheme": "int4"},
//       {"match": {"name": "lm_head", "kind": "matmul"}, "scheme": "int8"},
//       {"match": {"size": {"max_elements": 1000}}, "scheme": "float"}
//     ]
//   }

/// The recipe as JSON text; what has its default is left out. Equal recipes give equal text.
[[nodiscard]] std::string print_recipe(const Recipe& recipe);

/// What a rule matches, as a recipe has it, on one line: `{"kind":"matmul"}`.
[[nodiscard]] std::string print_match(const RuleMatch& match);

/// Reads a recipe, and checks it (`check`). Strict, as `parse_plan` is: unknown and repeated keys,
/// other types, unknown schemes, options and words, patterns that are no regular expressions. All
/// are `invalid_model` with the JSON path, and the number of the rule, in the message, and near
/// names where there are some. Schemes come out in the order of their names.
[[nodiscard]] Expected<Recipe> parse_recipe(std::string_view text,
                                            const SchemeTable& schemes = known_schemes());

/// The JSON Schema (draft 2020-12) of what `parse_recipe` reads. It holds no model, and does not
/// know regular expressions or which names a recipe's own schemes have.
[[nodiscard]] std::string print_recipe_schema(const SchemeTable& schemes = known_schemes());

}  // namespace quadrant::inline v0
