#include "calibration/sample_loop.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace quadrant::inline v0 {

Expected<void> for_each_sample(std::size_t count, const SampleLoop& loop,
                               FunctionRef<Expected<void>(std::size_t, std::size_t)> compute,
                               FunctionRef<Expected<void>(std::size_t, std::size_t)> settle) {
  SerialExecutor serial;
  Executor& executor = loop.executor != nullptr ? *loop.executor : serial;
  std::array<Expected<void>, sample_slots> outcomes;
  std::atomic<std::size_t> done = 0;
  const std::thread::id caller = std::this_thread::get_id();
  for (std::size_t first = 0; first < count; first += sample_slots) {
    const std::size_t now = std::min(sample_slots, count - first);
    executor.parallel_for(now, [&](std::size_t slot) {
      outcomes[slot] = compute(first + slot, slot);
      const std::size_t computed = ++done;
      // A sink is called from no other thread.
      if (loop.sink != nullptr && std::this_thread::get_id() == caller) {
        loop.sink->progress(loop.task, computed, count);
      }
    });
    for (std::size_t slot = 0; slot < now; ++slot) {
      QUADRANT_CHECK(std::move(outcomes[slot]));
      QUADRANT_CHECK(settle(first + slot, slot));
    }
    if (loop.sink != nullptr) loop.sink->progress(loop.task, done, count);
  }
  return {};
}

}  // namespace quadrant::inline v0
