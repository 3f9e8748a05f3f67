// Options of the command, made of a table of options.
#pragma once

#include <span>
#include <string_view>

#include "cli/cli11.hpp"
#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::cli {

/// Adds each option of the table as `--key`, or with `prefix` before the key; what is given goes to
/// `values`, which outlives `command`.
void declare(CLI::App& command, std::span<const OptionSpec> options, OptionValues& values,
             std::string_view prefix = {});

}  // namespace quadrant::cli
