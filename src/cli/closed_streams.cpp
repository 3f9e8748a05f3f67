#include "cli/closed_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace quadrant::cli {

void hold_closed_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): POSIX's own
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // The lowest number that is free, which is this one.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  }
}

}  // namespace quadrant::cli
