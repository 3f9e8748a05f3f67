#include "pipeline/effort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

/// What an effort means.
struct Effort {
  std::string_view name;
  std::string_view rounding;  ///< of weight_only
  bool corrects_biases = false;
  bool is_sequential = false;  ///< of weight_only
};

const Effort* find_effort(std::string_view name) {
  static constexpr std::array efforts{Effort{"fast", "nearest"},
                                      Effort{"balanced", "feedback", true},
                                      Effort{"best", "descent", true, true}};
  const auto found = std::ranges::find(efforts, name, &Effort::name);
  return found == efforts.end() ? nullptr : &*found;
}

}  // namespace

Expected<Recipe> with_effort(Recipe recipe, const RunInputs& inputs) {
  const auto* const word = given<std::string>(recipe.model, "effort");
  const Effort* const effort = word == nullptr ? nullptr : find_effort(*word);
  if (effort == nullptr) return recipe;
  if (effort->corrects_biases && !inputs.has_samples()) {
    return fail(ErrorCode::usage,
                fmt::format("effort {} measures what layers compute: it needs samples", *word), {},
                Remedy::give_samples);
  }
  recipe.model.erase("effort");
  if (effort->corrects_biases) {
    recipe.model.try_emplace("optimize", std::vector<std::string>{"bc"});
  }
  // Of a scheme of someone's own nobody knows the codes that the next layer is to compute with.
  const auto is_known = [](std::string_view name) { return find_scheme(name).has_value(); };
  bool knows_codes = std::ranges::all_of(recipe.schemes, is_known, &SchemeChoice::scheme);
  for (const RecipeRule& rule : recipe.rules) {
    knows_codes &= std::ranges::all_of(rule.schemes, [&](const std::string& name) {
      return name == "float" || is_known(name) ||
             std::ranges::find(recipe.schemes, name, &SchemeChoice::name) != recipe.schemes.end();
    });
  }
  for (SchemeChoice& choice : recipe.schemes) {
    if (choice.scheme != "weight_only") continue;
    choice.options.try_emplace("rounding", std::string(effort->rounding));
    if (effort->is_sequential && knows_codes) recipe.model.try_emplace("sequential", true);
  }
  return recipe;
}

}  // namespace quadrant::inline v0
