// Checks of what runtimes hand out.
#pragma once

#include <memory>
#include <set>
#include <span>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// `runtime.load`, of a model whose runs are checked: each watched value is handed out once for
/// each sample, or, in the body of a loop or a branch, any number of times (`ModelExecutor::run`).
/// `usage` where a runtime did otherwise: what was computed of it would be wrong. Beside operations
/// of someone's own, which may have bodies, inputs and outputs alone are known to be in none.
[[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load_checked(const Runtime& runtime,
                                                                    const Graph& graph,
                                                                    std::span<const Value> watched);

/// Of `values`, those in the bodies of loops and branches, of which the runtime hands out none.
[[nodiscard]] Expected<std::set<Value>> out_of_reach(const Runtime& runtime, const Graph& graph,
                                                     std::span<const Value> values);

}  // namespace quadrant::inline v0
