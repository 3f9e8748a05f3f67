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
#pragma once

#include <string>
#include <string_view>

#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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
