#include "cli/thread_executor.hpp"

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <utility>

namespace quadrant::cli {

ThreadExecutor::ThreadExecutor(std::size_t threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  workers_.reserve(threads - 1);
  try {
    for (std::size_t i = 1; i < threads; ++i) {
      workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): nothing is lost
    // The system has no more threads to give: fewer do the same.
  }
}

ThreadExecutor::~ThreadExecutor() {
  // All at once: joining in turn would wait for each to wake up.
  for (std::jthread& worker : workers_) worker.request_stop();
}

void ThreadExecutor::parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) {
  if (workers_.empty() || count < 2 || busy_.test_and_set()) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop(count, body);
  {
    const std::lock_guard lock(mutex_);
    loop_ = &loop;
  }
  wake_.notify_all();
  run(loop);
  {
    std::unique_lock lock(mutex_);
    loop_ = nullptr;  // nobody enters any more
    idle_.wait(lock, [&] { return loop.running == 0; });
  }
  busy_.clear();
  if (loop.exception) std::rethrow_exception(loop.exception);
}

void ThreadExecutor::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto has_work = [this] { return loop_ != nullptr && loop_->next < loop_->count; };
    if (!wake_.wait(lock, stop, has_work)) return;
    Loop& loop = *loop_;
    ++loop.running;
    lock.unlock();
    run(loop);
    lock.lock();
    if (--loop.running == 0) idle_.notify_one();
  }
}

void ThreadExecutor::run(Loop& loop) noexcept {
  try {
    for (std::size_t i = loop.next++; i < loop.count; i = loop.next++) loop.body(i);
  } catch (...) {
    loop.next = loop.count;
    const std::lock_guard lock(mutex_);
    if (!loop.exception) loop.exception = std::current_exception();
  }
}

}  // namespace quadrant::cli
