// Where the command takes its recipe from: --scheme, --mix, --preset or --recipe; and of what:
// --include and --exclude.
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

/// Patterns for `include` and `exclude` of a recipe. docs/command.md says what they mean.
struct ScopeOptions {
  std::vector<std::string> include;
  std::vector<std::string> exclude;

  [[nodiscard]] bool is_given() const noexcept { return !(include.empty() && exclude.empty()); }
};

/// Adds them to a subcommand.
void declare(CLI::App& command, ScopeOptions& options);

}  // namespace quadrant::cli
