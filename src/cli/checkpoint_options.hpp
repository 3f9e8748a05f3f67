// Where `calibrate` and `optimize` keep what they have come to so far.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

struct KeepOptions {
  std::size_t every = 0;  ///< --checkpoint, as a flag 1; 0: none is kept
  std::string file;       ///< --checkpoint-file; empty: beside the output
};

/// Adds --checkpoint, after so many samples, and --checkpoint-file.
void declare(CLI::App& command, KeepOptions& options);
/// The same, where --checkpoint is a flag: after each attempt of a search.
void declare_for_attempts(CLI::App& command, KeepOptions& options);

/// `usage` where there is no place for it.
[[nodiscard]] Expected<CheckpointOptions> checkpoint_of(const KeepOptions& options,
                                                        const std::string& output,
                                                        Console& console);
/// The same of what is gathered. `merged`: the bytes of what the result is added to.
[[nodiscard]] Expected<CheckpointOptions> checkpoint_of(const KeepOptions& options,
                                                        const std::string& output,
                                                        const std::string& runtime,
                                                        std::string_view merged, Console& console);

}  // namespace quadrant::cli
