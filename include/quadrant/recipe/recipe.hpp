// A recipe: all that a command line says about what to quantize and how, as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/element_type.hpp"
#include "quadrant/recipe/option_table.hpp"
#include "quadrant/recipe/scheme_choice.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What a rule is about. All that is said must hold; nothing said is everything.
struct RuleMatch {
  /// A regular expression (RE2), looked for in the names of nodes, of the values that they make, of
  /// weights and of whoever reads a weight.
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
  /// What is done to the float model before: `recipe_model_options`.
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

}  // namespace quadrant::inline v0
