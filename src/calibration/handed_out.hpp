// What runtimes are trusted to do.
#pragma once

#include <cstddef>
#include <string_view>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// An output of a model is handed out once for each sample (`ModelExecutor::run`). `usage` where a
/// runtime did so any other number of `times`: what was computed of it would be wrong.
[[nodiscard]] Expected<void> check_handed_out(std::size_t times, std::string_view output);

}  // namespace quadrant::inline v0
