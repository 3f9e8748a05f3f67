// The threads that the command lends to the library.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "quadrant/support/executor.hpp"

namespace quadrant::cli {

/// Runs loops on a fixed number of threads, the caller's included. A loop that is started while
/// another runs (from inside its body, say) runs in the thread that started it.
class ThreadExecutor final : public Executor {
 public:
  /// 0: as many threads as the machine has.
  explicit ThreadExecutor(std::size_t threads);
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;
  ~ThreadExecutor() override;

  [[nodiscard]] std::size_t thread_count() const noexcept { return workers_.size() + 1; }

  /// What a body throws (it should not, but memory can run out) is thrown on here, after the loop.
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override;

 private:
  struct Loop {
    explicit Loop(std::size_t iterations, FunctionRef<void(std::size_t)> each)
        : count(iterations), body(each) {}
    std::size_t count;
    FunctionRef<void(std::size_t)> body;
    std::atomic<std::size_t> next = 0;
    std::size_t running = 0;       // workers inside; guarded by mutex_
    std::exception_ptr exception;  // guarded by mutex_
  };

  void work(const std::stop_token& stop);
  void run(Loop& loop) noexcept;

  std::atomic_flag busy_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  Loop* loop_ = nullptr;  // guarded by mutex_
  std::vector<std::jthread> workers_;
};

}  // namespace quadrant::cli
