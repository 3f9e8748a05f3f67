// The ways to store a weight among which a budget chooses.
#pragma once

#include <vector>

#include "cli/decision.hpp"
#include "quadrant/engine/plan.hpp"
#include "quadrant/recipe/scheme_choice.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// Those of the preset `mixed-4.5bit`: weight_only at 8 bits and at 4, for channels and for blocks
/// of 16 to 128. Every one of them is run by ONNX Runtime.
[[nodiscard]] Expected<std::vector<SchemeChoice>> weight_variants();

/// Where `options` name a scheme alone, and `plan` is of these variants, as a budget makes it,
/// `subject` gets them as its registry. `usage` where `options` say more of the scheme.
[[nodiscard]] Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options,
                                             Subject& subject);

}  // namespace quadrant::cli
