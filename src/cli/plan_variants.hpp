// Plans that a budget made, for commands that follow them.
#pragma once

#include "cli/decision.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// Where the options name a scheme alone, and `plan` is of a budget's `weight_variants`, `run` gets
/// them as its registry. `usage` where the options say more of the scheme.
[[nodiscard]] Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options,
                                             PreparedRun& run);

}  // namespace quadrant::cli
