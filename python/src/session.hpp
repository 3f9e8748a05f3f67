// One call from Python: its threads, what it tells, and how it ends early.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "quadrant/adapters/tbb.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::python {

namespace nb = nanobind;

/// An Error on its way to Python, where it becomes a quadrant.Error.
struct Failure final : std::exception {
  explicit Failure(Error of) : error(std::move(of)) {}
  [[nodiscard]] const char* what() const noexcept override { return error.message.c_str(); }
  Error error;
};

/// The value, or the error thrown.
template <class T>
[[nodiscard]] T value_of(Expected<T> result) {
  if (!result) throw Failure(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The same, made of arguments: what would be a broken file is a wrong call.
template <class T>
[[nodiscard]] Expected<T> of_arguments(Expected<T> result) {
  if (!result && result.error().code == ErrorCode::invalid_model) {
    result.error().code = ErrorCode::usage;
  }
  return result;
}

struct SessionOptions {
  std::size_t threads = 0;       ///< 0: those of the machine
  std::uint64_t run_memory = 0;  ///< 0: the interpreter's default
  bool follow_links = false;
  bool convert_samples = false;
  bool allow_non_finite_samples = false;
};

/// Threads of oneTBB. The library looks for a stop between samples and steps; this ends loops over
/// weights, too, by an exception that passes through the library.
class StoppableExecutor final : public Executor {
 public:
  struct Stopped {};

  StoppableExecutor(std::size_t threads, std::stop_token stop)
      : threads_(threads), stop_(std::move(stop)) {}
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override;

 private:
  TbbExecutor threads_;
  std::stop_token stop_;
};

/// Library calls run in a thread of their own, without the GIL; the calling thread waits for them
/// and lets Python handle signals meanwhile. So Ctrl-C ends a call at its next step or sample, and
/// callbacks may take as long as they like: each that runs Python, on whatever thread, gets a
/// KeyboardInterrupt, too, and a call of the library in one ends with the call around it.
class Session final : public Sink {
 public:
  /// `progress(task, done, total)` or None.
  Session(const SessionOptions& options, nb::object progress);

  /// What `work(context)` gives, an Expected. Needs the GIL. Throws what a callback or a handler of
  /// signals raised, or the error as a Failure.
  template <class Work>
  auto run(Work work) {
    using Outcome = std::invoke_result_t<Work&, const RunContext&>;
    std::optional<Outcome> outcome;
    run_in_thread([&] { outcome.emplace(work(context_)); });
    // The thread has made it, or has thrown.
    return value_of(*std::move(outcome));  // NOLINT(bugprone-unchecked-optional-access)
  }

  /// What Python code that the library called has raised: the first ends the call. Any thread.
  void keep(std::exception_ptr raised);

  /// Notes and warnings since the last call of this.
  [[nodiscard]] std::vector<Diagnostic> take_diagnostics();
  /// Lets go of the callback. What a run returns holds on to its session.
  void close() { progress_ = nb::none(); }

  void report(const Diagnostic& diagnostic) override;
  void progress(std::string_view task, std::uint64_t done, std::uint64_t total) override;

 private:
  friend class PythonCall;
  using Clock = std::chrono::steady_clock;
  void run_in_thread(const std::function<void()>& work);
  void interrupt();

  std::stop_source stop_;
  StoppableExecutor executor_;
  RunContext context_;
  nb::object progress_;
  bool has_progress_;
  std::string last_task_;
  Clock::time_point last_progress_;
  std::atomic<bool> has_raised_ = false;

  std::mutex mutex_;
  std::exception_ptr raised_;            // guarded by mutex_
  std::vector<unsigned long> callers_;   // threads that run Python; guarded by mutex_
  std::vector<Diagnostic> diagnostics_;  // guarded by mutex_
};

/// A thread of the session runs Python while this is there: it has the GIL.
class PythonCall {
 public:
  explicit PythonCall(Session& session);
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;
  ~PythonCall();

 private:
  nb::gil_scoped_acquire gil_;
  Session& session_;
  Session* around_;  // of a call that this thread is in already
};

/// What `call()`, which runs Python, gives, an Expected; what it raises ends the session's call.
template <class Call>
auto call_python(Session& session, const char* failed, Call call) -> std::invoke_result_t<Call&> {
  const PythonCall python(session);
  try {
    return call();
  } catch (...) {
    session.keep(std::current_exception());
    return fail(ErrorCode::cancelled, failed);
  }
}

}  // namespace quadrant::python
