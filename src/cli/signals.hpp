// Ends of the program that come from elsewhere: signals, and exceptions that cannot be caught.
#pragma once

namespace quadrant::cli {

/// From now on in this process: where pages of a mapped file are gone, because it became shorter,
/// the program says so and ends with the exit code of input/output errors; a write beyond the size
/// that files may have fails like any other; so does memory that is missing where no exception may
/// leave.
void handle_signals() noexcept;

}  // namespace quadrant::cli
