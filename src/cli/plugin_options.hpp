// --plugin: schemes that a call brings along.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/cli11.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::cli {

/// Shows the option in the help of a command, or of all; it is read before, by `take_plugins`.
void declare_plugins(CLI::App& command);

/// The arguments of a call without those that say which schemes there are, from which other options
/// follow.
struct Arguments {
  std::vector<const char*> rest;
  std::vector<std::string> plugins;
};
[[nodiscard]] Expected<Arguments> take_plugins(std::span<const char* const> arguments);

/// Adds the schemes of each, in order, and tells `files` that they are read.
[[nodiscard]] Expected<void> load_plugins(std::span<const std::string> plugins,
                                          SchemeTable& schemes, FileTransaction& files);

}  // namespace quadrant::cli
