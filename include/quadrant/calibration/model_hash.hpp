// Whether two models are the same, by their contents.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// A hash of the graph's structure, names and constants, never 0: that of what was read is the same
/// on all machines. It tells accidents apart, not attackers. Reads all constants once, on
/// `executor` if there is one; their errors are handed on.
[[nodiscard]] Expected<std::uint64_t> model_hash(const Graph& graph, Executor* executor = nullptr);

}  // namespace quadrant::inline v0
