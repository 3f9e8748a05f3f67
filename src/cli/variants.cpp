#include "cli/variants.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "quadrant/recipe/presets.hpp"
#include "quadrant/recipe/recipe_json.hpp"

namespace quadrant::cli {

Expected<std::vector<SchemeChoice>> weight_variants() {
  QUADRANT_TRY(const Preset* const preset, find_preset("mixed-4.5bit"));
  QUADRANT_TRY(Recipe recipe, parse_recipe(preset->text));
  return std::move(recipe.schemes);
}

Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options, Subject& subject) {
  if (options.recipe.scheme.empty()) return {};
  QUADRANT_TRY(const std::vector<SchemeChoice> choices, weight_variants());
  QUADRANT_TRY(Registry variants, make_registry(choices, subject.weights));
  bool is_same = plan.schemes.size() == variants.scheme_count();
  for (std::uint32_t i = 0; is_same && i < variants.scheme_count(); ++i) {
    is_same = plan.schemes[i].name == variants.name(i);
  }
  if (!is_same) return {};
  QUADRANT_TRY(const SchemeCommand* const scheme, options.schemes.find(options.recipe.scheme));
  const std::string given = options.schemes.given_option(*scheme);
  if (!given.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("--plan is of a budget, which chose bits, blocks and scales for each "
                            "weight: {} does not go with it",
                            given));
  }
  subject.registry = std::move(variants);
  return {};
}

}  // namespace quadrant::cli
