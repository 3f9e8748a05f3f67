// The files that the arguments of a call name.
#pragma once

#include <string_view>

#include "cli/cli11.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::cli {

/// Tells `files` what the call reads and what it writes, before it does: that it can be put in its
/// place, and is none that it reads or writes by another option. `replaceable`: the argument whose
/// files --output may be; a model if it is ONNX, as what is written. What else is read, such as a
/// model's data, is told by those who read it.
[[nodiscard]] Expected<void> announce_files(const CLI::App& command, std::string_view replaceable,
                                            FileTransaction& files);

/// That all ranks read the same contents from files that options name: recipes, statistics, plans,
/// moments and so on. Not from models and samples, which those compare that read them. `usage`
/// where a file differs, or one rank has it not.
[[nodiscard]] Expected<void> check_same_files(const CLI::App& command, Ranks& ranks);

}  // namespace quadrant::cli
