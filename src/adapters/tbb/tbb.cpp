#include "quadrant/adapters/tbb.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <optional>

namespace quadrant::inline v0 {
namespace {

// Each takes memory in oneTBB whether it runs or not.
constexpr std::size_t most_threads = 1024;

std::size_t allowed_threads() {
  return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
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
    : arena_(std::make_unique<Arena>(threads == 0 ? allowed_threads()
                                                  : std::min(threads, most_threads))) {}

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
