#include "cli/resources.hpp"

#include <CLI/CLI.hpp>

namespace quadrant::cli {

void declare_threads(CLI::App& command, unsigned& threads) {
  command
      .add_option("--threads", threads,
                  "Threads to use; 0: as many as the machine has. The result is the same")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace quadrant::cli
