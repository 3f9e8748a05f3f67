#include "cli/signals.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/exit_code.hpp"

namespace quadrant::cli {
namespace {

// What a handler may do is little: a write, and the end. No file has its name by then.
[[noreturn]] void end_with(std::string_view message) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(exit_code(ErrorCode::io)));
}

void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {  // not a page that is gone: as if there were no handler
    std::signal(signal, SIG_DFL);
    return;
  }
  constexpr std::string_view message =
      "quadrant: a file became shorter, or could not be read, while it was in use\n";
  end_with(message);
}

// Destructors of libraries may want memory, too (nlohmann-json's does), and cannot say that there
// is none.
void on_terminate() {
  try {
    if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    end_with("quadrant: not enough memory\n");
  } catch (...) {
    std::abort();  // a defect
  }
  std::abort();
}

sigset_t interrupt() noexcept {
  sigset_t signals{};
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  return signals;
}

// Waits in a thread: a handler may do too little.
void wait_for_interrupts(const std::stop_token& end, const std::stop_source& stop) {
  const sigset_t signals = interrupt();
  constexpr timespec patience{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!end.stop_requested()) {
    if (::sigtimedwait(&signals, nullptr, &patience) != SIGINT || stop.request_stop()) continue;
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    ::raise(SIGINT);
  }
}

}  // namespace

StopOnInterrupt::StopOnInterrupt() {
  struct sigaction action{};
  if (::sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  const sigset_t signals = interrupt();
  ::pthread_sigmask(SIG_BLOCK, &signals, &former_mask_);
  try {
    waiting_ = std::jthread(wait_for_interrupts, source_);
  } catch (const std::system_error&) {  // no thread: Ctrl-C ends the process as ever
    ::pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
  }
}

StopOnInterrupt::~StopOnInterrupt() {
  if (!waiting_.joinable()) return;
  waiting_.request_stop();
  waiting_.join();
  ::pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
}

void handle_signals() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(on_terminate);
}

}  // namespace quadrant::cli
