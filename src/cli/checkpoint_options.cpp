#include "cli/checkpoint_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>

#include "cli/arguments.hpp"
#include "support/content_hash.hpp"

namespace quadrant::cli {
namespace {

void declare_file(CLI::App& command, KeepOptions& options, CLI::Option* checkpoint) {
  add_value(command, "--checkpoint-file", options.file, "FILE", "That file, elsewhere")
      ->needs(checkpoint);
}

}  // namespace

void declare(CLI::App& command, KeepOptions& options) {
  CLI::Option* const every =
      add_value(command, "--checkpoint", options.every, "N",
                "Every N samples, save the results so far in a file beside the output, "
                "OUTPUT.checkpoint; if it exists, continue from it. It is removed at the end")
          ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()));
  declare_file(command, options, every);
}

void declare_for_attempts(CLI::App& command, KeepOptions& options) {
  declare_file(
      command, options,
      command.add_flag(
          "--checkpoint", options.every,
          "Save the result of each attempt in a file beside the output, OUTPUT.checkpoint; if it "
          "exists, continue from it. It is removed when the search has ended"));
}

Expected<CheckpointOptions> checkpoint_of(const KeepOptions& options, const std::string& output,
                                          Console& console) {
  if (options.every == 0) return CheckpointOptions{};
  CheckpointOptions made{.path = options.file, .every = options.every};
  if (made.path.empty()) {
    if (output.empty()) {
      return fail(ErrorCode::usage,
                  "--checkpoint keeps a file beside the output: name that, with --output, or the "
                  "file itself, with --checkpoint-file");
    }
    made.path = output + ".checkpoint";
    QUADRANT_CHECK(console.files().announce(made.path, "--checkpoint"));
  }
  return made;
}

Expected<CheckpointOptions> checkpoint_of(const KeepOptions& options, const std::string& output,
                                          const std::string& runtime, std::string_view merged,
                                          Console& console) {
  QUADRANT_TRY(CheckpointOptions made, checkpoint_of(options, output, console));
  ContentHash hash;
  hash.add(std::as_bytes(std::span(merged)));
  made.settings = {{"the runtime", runtime},
                   {"what it is merged with", fmt::format("{:016x}", hash.value())}};
  return made;
}

}  // namespace quadrant::cli
