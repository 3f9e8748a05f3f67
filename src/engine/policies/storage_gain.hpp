// What a node's storage is worth when its results are made in a quantized form.
#pragma once

#include "engine/policies/form_of.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// Nothing for values that are computed and not stored.
[[nodiscard]] inline Gain storage_gain(const SelectionProblem& problem, const Request& request) {
  const ConstraintTable& constraints = problem.requests.constraints();
  const auto* method =
      problem.eligibility.method(request.value.node, constraints.scheme(request.constraint));
  if (method == nullptr) return Gain{};
  const NodeRef node{&problem.graph, request.value.node};
  const auto change = method->erased_storage(constraints.get(request.constraint), node);
  if (!change) return Gain{};
  const ValueForm form = form_of(problem.registry, constraints, request.constraint);
  return problem.gains.of_storage({node, form, *change});
}

}  // namespace quadrant::inline v0
