#include "cli/signals.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "cli/exit_code.hpp"

namespace quadrant::cli {
namespace {

// What a handler may do is little: a write, and the end.
void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {  // not a page that is gone: as if there were no handler
    std::signal(signal, SIG_DFL);
    return;
  }
  constexpr std::string_view message =
      "quadrant: a file became shorter, or could not be read, while it was in use\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(exit_code(ErrorCode::io)));
}

}  // namespace

void handle_signals() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace quadrant::cli
