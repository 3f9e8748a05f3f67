// The ways to store a weight among which a budget chooses.
#pragma once

#include "cli/decision.hpp"
#include "quadrant/engine/plan.hpp"
#include "quadrant/engine/registry.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// weight_only at 8 bits and at 4, for channels and for blocks of 16 to 128, under names that say
/// so: `int8`, `int4`, `int4-block32`, `uint4-block32`. Every one of them is run by ONNX Runtime.
[[nodiscard]] Expected<Registry> weight_variants();

/// Where a plan is of these variants, as a budget makes them, `subject` gets them as its registry.
[[nodiscard]] Expected<void> use_variants_of(const Plan& plan, Subject& subject);

}  // namespace quadrant::cli
