// What a command can do about an error of the library, in the words of its options.
#pragma once

#include <string>

#include "cli/cli11.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// `; --convert converts them`, say, for the message of an error of `command`, as it was called.
/// Empty where neither it nor what it was called with has such an option.
[[nodiscard]] std::string advice(const CLI::App& command, Remedy remedy);

}  // namespace quadrant::cli
