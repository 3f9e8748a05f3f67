#include "quadrant/adapters/tbb.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace quadrant::inline v0 {
namespace {

// Each takes memory in oneTBB whether it runs or not.
constexpr std::size_t most_threads = 1024;

std::size_t allowed_threads() {
  return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

// So many threads, the calling one among them, if the system makes that many at the same time, or
// else that one: where it refuses one later, oneTBB throws in the middle of a loop, and under a
// limit of memory they need more than they are made with. All are made, and go again.
std::size_t possible_threads(std::size_t wanted) {
  static std::atomic<std::size_t> known = 1;  // to be possible
  if (wanted <= known) return wanted;
  std::latch all_there(1);
  std::vector<std::thread> threads;
  threads.reserve(wanted);
  bool is_possible = true;
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back([&] { all_there.wait(); });
  } catch (const std::exception&) {
    is_possible = false;
  }
  all_there.count_down();
  for (std::thread& thread : threads) thread.join();
  if (!is_possible) return 1;
  known = wanted;
  return wanted;
}

}  // namespace

struct TbbExecutor::Arena {
  explicit Arena(std::size_t threads) : arena(static_cast<int>(threads)) {
    if (threads > allowed_threads()) {
      limit.emplace(tbb::global_control::max_allowed_parallelism, threads);
    }
  }

  std::optional<tbb::global_control> limit;
  tbb::task_arena arena;
};

TbbExecutor::TbbExecutor(std::size_t threads)
    : arena_(std::make_unique<Arena>(
          possible_threads(threads == 0 ? allowed_threads() : std::min(threads, most_threads)))) {}

TbbExecutor::~TbbExecutor() = default;

std::size_t TbbExecutor::thread_count() const noexcept {
  return static_cast<std::size_t>(arena_->arena.max_concurrency());
}

void TbbExecutor::parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) {
  arena_->arena.execute([&] {
    // Alone: a thread that waits here must not begin an iteration of an outer loop, which might
    // want a lock that this thread holds.
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) body(i);
      });
    });
  });
}

}  // namespace quadrant::inline v0
