// Samples in parallel, with results that do not depend on it.
#pragma once

#include <cstddef>
#include <string_view>

#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// How many samples are under way at a time: what a caller needs room for.
inline constexpr std::size_t sample_slots = 16;

struct SampleLoop {
  Executor* executor = nullptr;  ///< null: one thread
  Sink* sink = nullptr;          ///< hears progress; may be null
  std::string_view task;         ///< what progress is called
};

/// Calls `compute(sample, slot)` for each of `count` samples, several at the same time, each in a
/// slot below `sample_slots` that is its own until `settle(sample, slot)` has returned; that is
/// called in the calling thread and in the order of the samples. The first error in that order ends
/// the loop.
[[nodiscard]] Expected<void> for_each_sample(
    std::size_t count, const SampleLoop& loop,
    FunctionRef<Expected<void>(std::size_t sample, std::size_t slot)> compute,
    FunctionRef<Expected<void>(std::size_t sample, std::size_t slot)> settle);

}  // namespace quadrant::inline v0
