// How the library runs independent pieces of work. It owns no threads: the caller lends them.
#pragma once

#include <cstddef>

#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0 {

/// Runs a loop whose iterations are independent. Results never depend on the executor.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// Calls `body(0) ... body(count - 1)`, each once, in any order, possibly at the same time, and
  /// returns when all have returned.
  virtual void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) = 0;
};

/// The default: runs the loop in the calling thread, in order.
class SerialExecutor final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override;
};

}  // namespace quadrant::inline v0
