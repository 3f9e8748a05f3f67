// --include and --exclude.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.hpp"

namespace quadrant::cli {

/// Patterns for `include` and `exclude` of a recipe. docs/command.md says what they mean.
struct ScopeOptions {
  std::vector<std::string> include;
  std::vector<std::string> exclude;

  [[nodiscard]] bool is_given() const noexcept { return !(include.empty() && exclude.empty()); }
};

/// Adds them to a subcommand.
void declare(CLI::App& command, ScopeOptions& options);

}  // namespace quadrant::cli
