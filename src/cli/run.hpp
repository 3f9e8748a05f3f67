// The whole command, as a function.
#pragma once

#include <cstdio>

#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::cli {

/// Runs `quadrant` with these arguments and schemes, and returns its exit code. Throws nothing.
/// `schemes`: null: the library's. `ranks`: others that are called with the same arguments, to
/// share the work with. The first alone writes files; all print what they would, of errors those of
/// all. Null: there are none.
[[nodiscard]] int run(int argc, const char* const* argv, std::FILE* out, std::FILE* err,
                      const SchemeTable* schemes = nullptr, Ranks* ranks = nullptr) noexcept;

}  // namespace quadrant::cli
