#include "cli/scope_options.hpp"

#include <CLI/CLI.hpp>

namespace quadrant::cli {
namespace {

// An option that may be given several times, with one value each: `--include A --include B MODEL`.
void add_patterns(CLI::App& command, const std::string& name, std::vector<std::string>& patterns,
                  const std::string& description) {
  command.add_option(name, patterns, description)->type_name("RE")->allow_extra_args(false);
}

}  // namespace

void declare(CLI::App& command, ScopeOptions& options) {
  add_patterns(command, "--include", options.include,
               "Quantize only what matches: nodes, weights and values whose name contains a match "
               "of the regular expression. Repeatable");
  add_patterns(command, "--exclude", options.exclude,
               "Leave what matches in float. Repeatable; stronger than --include");
}

}  // namespace quadrant::cli
