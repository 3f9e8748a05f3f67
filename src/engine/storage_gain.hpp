// What a node's storage is worth when its results are made in a quantized form.
#pragma once

#include "quadrant/engine/selection.hpp"

namespace quadrant::inline v0 {

/// Nothing for values that are computed and not stored.
[[nodiscard]] inline Gain storage_gain(const SelectionProblem& problem, const Request& request) {
  const ConstraintTable& constraints = problem.requests.constraints();
  const auto* method =
      problem.eligibility.method(request.value.node, constraints.scheme(request.constraint));
  if (method == nullptr) return Gain{};
  const auto change = method->erased_storage(constraints.get(request.constraint),
                                             {&problem.graph, request.value.node});
  return change ? problem.gains.of_storage(*change) : Gain{};
}

}  // namespace quadrant::inline v0
