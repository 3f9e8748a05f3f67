#include "session.hpp"

#include <algorithm>

namespace quadrant::python {
namespace {

// How long Ctrl-C may wait to be seen, and a bar to be redrawn.
constexpr std::chrono::milliseconds patience{50};

// The session whose call the thread runs Python for.
thread_local Session* calling = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

}  // namespace

void StoppableExecutor::parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) {
  threads_.parallel_for(count, [&](std::size_t i) {
    if (!stop_.stop_requested()) body(i);
  });
  if (stop_.stop_requested()) throw Stopped();
}

Session::Session(const SessionOptions& options, nb::object progress)
    : executor_(options.threads, stop_.get_token()),
      context_{.executor = &executor_,
               .sink = this,
               .stop = stop_.get_token(),
               .follow_links = options.follow_links,
               .convert_samples = options.convert_samples,
               .allow_non_finite_samples = options.allow_non_finite_samples},
      progress_(std::move(progress)),
      has_progress_(!progress_.is_none()) {
  if (options.run_memory != 0) context_.run_memory = options.run_memory;
}

PythonCall::PythonCall(Session& session)
    : session_(session), around_(std::exchange(calling, &session)) {
  const std::lock_guard lock(session_.mutex_);
  session_.callers_.push_back(PyThread_get_thread_ident());
}

PythonCall::~PythonCall() {
  calling = around_;
  const std::lock_guard lock(session_.mutex_);
  const auto own = std::ranges::find(session_.callers_, PyThread_get_thread_ident());
  session_.callers_.erase(own);
}

// Ends what runs Python at its next line. What that raises comes second. Needs the GIL.
void Session::interrupt() {
  const std::lock_guard lock(mutex_);
  for (const unsigned long thread : callers_) {
    PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
  }
}

void Session::run_in_thread(const std::function<void()>& work) {
  std::exception_ptr thrown;
  const Session* const around = calling;
  {
    const nb::gil_scoped_release no_gil;
    std::condition_variable finished;
    bool is_finished = false;
    std::thread thread([&] {
      try {
        work();
      } catch (...) {  // no memory, say, or Stopped
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      is_finished = true;
      finished.notify_one();
    });
    std::unique_lock lock(mutex_);
    while (!finished.wait_for(lock, patience, [&] { return is_finished; })) {
      lock.unlock();
      if (around != nullptr && around->stop_.stop_requested()) stop_.request_stop();
      {
        const nb::gil_scoped_acquire gil;
        // Of the main thread alone: in others it does nothing.
        if (PyErr_CheckSignals() != 0) {
          keep(std::make_exception_ptr(nb::python_error()));
          interrupt();
        }
      }
      lock.lock();
    }
    lock.unlock();
    thread.join();
  }
  if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
  if (thrown) std::rethrow_exception(thrown);
}

void Session::keep(std::exception_ptr raised) {
  {
    const std::lock_guard lock(mutex_);
    if (!raised_) raised_ = std::move(raised);
  }
  has_raised_ = true;
  stop_.request_stop();
}

std::vector<Diagnostic> Session::take_diagnostics() {
  const std::lock_guard lock(mutex_);
  return std::exchange(diagnostics_, {});
}

void Session::report(const Diagnostic& diagnostic) {
  const std::lock_guard lock(mutex_);
  diagnostics_.push_back(diagnostic);
}

void Session::progress(std::string_view task, std::uint64_t done, std::uint64_t total) {
  if (!has_progress_ || has_raised_) return;
  const Clock::time_point now = Clock::now();
  if (task == last_task_ && done != total && now - last_progress_ < patience) return;
  last_task_ = task;
  last_progress_ = now;
  static_cast<void>(call_python(*this, "the callback failed", [&]() -> Expected<void> {
    if (!progress_.is_none()) progress_(nb::str(task.data(), task.size()), done, total);
    return {};
  }));
}

}  // namespace quadrant::python
