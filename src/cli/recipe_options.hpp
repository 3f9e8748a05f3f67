// Where the command takes its recipe from: --scheme, --mix, --preset or --recipe.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.hpp"
#include "cli/schemes.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

struct RecipeOptions {
  std::string scheme;
  std::vector<std::string> mix;  ///< names of presets, with commas between, or `NAME=SCHEME,...`
  std::string preset;
  std::string file;
};

/// Adds them to a subcommand.
void declare(CLI::App& command, RecipeOptions& options);

/// The recipe that the options mean, those of `schemes` included. One of them must be given.
[[nodiscard]] Expected<NamedRecipe> recipe_of(const RecipeOptions& options, const Schemes& schemes);

}  // namespace quadrant::cli
