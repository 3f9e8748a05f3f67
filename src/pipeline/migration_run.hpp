// migrate, as a step of a run: for weights alone, and for static codes.
#pragma once

#include <span>

#include "pipeline/scheme_run.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The subject's graph, whose weights are to become codes by these choices of weight_only, with the
/// moments of its layers' inputs, which follow it. Each site's factors are those of least error
/// with nearest codes; it is migrated where codes that are rounded as the choices say have less
/// error, too.
[[nodiscard]] Expected<void> migrate_weights(SchemeSubject& subject, SecondMomentsTable& moments,
                                             std::span<const SchemeChoice> choices);

/// A graph whose weights and activations are to become codes of that many bits.
struct StaticCodes {
  int weight_bits = 8;
  int activation_bits = 8;
  bool one_scale = false;  ///< for all of a weight
};
[[nodiscard]] Expected<void> migrate_activations(Graph& graph, const StaticCodes& codes,
                                                 const RunInputs& inputs,
                                                 const RunContext& context);

}  // namespace quadrant::inline v0
