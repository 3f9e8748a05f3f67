// The whole command, as a function.
#pragma once

#include <cstdio>

namespace quadrant::cli {

/// Runs `quadrant` with these arguments and returns its exit code. Throws nothing.
[[nodiscard]] int run(int argc, const char* const* argv, std::FILE* out, std::FILE* err) noexcept;

}  // namespace quadrant::cli
