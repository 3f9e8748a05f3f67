// Signals that the system sends where a file lets a program down.
#pragma once

namespace quadrant::cli {

/// From now on in this process: where pages of a mapped file are gone, because it became shorter,
/// the program says so and ends with the exit code of input/output errors; a write beyond the size
/// that files may have fails like any other.
void handle_signals() noexcept;

}  // namespace quadrant::cli
