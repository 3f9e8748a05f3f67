// What a command can do about an error of the library, in the words of its options.
#pragma once

#include <string>
#include <string_view>

#include "cli/cli11.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// `; --convert converts them`, say, for the message of an error of `command`, as it was called.
/// Empty where neither it nor what it was called with has such an option.
[[nodiscard]] std::string advice(const CLI::App& command, Remedy remedy);

/// For an option that the command does not have, and that is the name of a transform:
/// `; did you mean '--optimize rotate'?`. Else empty.
[[nodiscard]] std::string advice_on_transform(const CLI::App& command, std::string_view option);

}  // namespace quadrant::cli
