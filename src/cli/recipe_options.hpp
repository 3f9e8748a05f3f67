// Where the command takes its recipe from: --scheme, --mix, --preset or --recipe.
#pragma once

#include <string>
#include <vector>

#include "cli/schemes.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/expected.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace quadrant::cli {

struct RecipeOptions {
  std::string scheme;
  std::vector<std::string> mix;  ///< names of presets, with commas between, or `NAME=SCHEME,...`
  std::string preset;
  std::string file;
};

/// Adds them to a subcommand.
void declare(CLI::App& command, RecipeOptions& options);

/// A recipe, and what messages call it.
struct NamedRecipe {
  Recipe recipe;
  std::string label;
};

/// A recipe of a file; `preset int8` of a preset.
[[nodiscard]] Expected<NamedRecipe> read_recipe(const std::string& path);
[[nodiscard]] Expected<NamedRecipe> recipe_of_preset(const std::string& name);

/// The recipe that the options mean, those of `schemes` included. One of them must be given.
[[nodiscard]] Expected<NamedRecipe> recipe_of(const RecipeOptions& options, const Schemes& schemes);

}  // namespace quadrant::cli
