// Threads of oneTBB (https://oneapi-src.github.io/oneTBB) for the library's loops.
#pragma once

#include <cstddef>
#include <memory>

#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Runs loops in an arena of oneTBB, whose threads other users of it in the process share. The
/// calling thread takes part. Loops may be started from several threads and from inside of a loop's
/// body; a thread that waits for the end of its loop works on that loop alone, so a body may hold a
/// lock while it runs a loop of its own.
class TbbExecutor final : public Executor {
 public:
  /// `threads`, the caller's included; 0: as many as oneTBB has in this process, which by default
  /// are those of the machine; 1024 at most. More than that raises oneTBB's limit for as long as
  /// this object lives. The caller alone where the system does not make so many.
  explicit TbbExecutor(std::size_t threads = 0);
  TbbExecutor(const TbbExecutor&) = delete;
  TbbExecutor& operator=(const TbbExecutor&) = delete;
  ~TbbExecutor() override;

  [[nodiscard]] std::size_t thread_count() const noexcept;

  /// What a body throws (it should not, but memory can run out) is thrown on here, after the loop,
  /// some of whose iterations are left out then.
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override;

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace quadrant::inline v0
