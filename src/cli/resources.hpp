// What of the machine a command may take.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace quadrant::cli {

/// Adds --threads to a subcommand: what TbbExecutor takes, 0 unless it is given.
void declare_threads(CLI::App& command, unsigned& threads);

}  // namespace quadrant::cli
