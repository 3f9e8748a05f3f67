// Ends of the program that come from elsewhere: signals, and exceptions that cannot be caught.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace quadrant::cli {

/// From now on in this process: where pages of a mapped file are gone, because it became shorter,
/// the program says so and ends with the exit code of input/output errors; a write beyond the size
/// that files may have fails like any other; so does memory that is missing where no exception may
/// leave.
void handle_signals() noexcept;

/// While it lives, Ctrl-C asks for a stop, and a second one ends the process as ever; ignored
/// interrupts stay ignored. Made before other threads, which are not to be interrupted either.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt();

  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiting_;  // none: interrupts are as they were
  sigset_t former_mask_{};
};

}  // namespace quadrant::cli
