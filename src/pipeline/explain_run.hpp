// Which explanations of a run are worth reading, and in which order.
#pragma once

#include <string>
#include <vector>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// `analysis` is of the run.

/// What a user asks about first: each weight, the largest first, then each operation that would
/// gain, in the order in which they are computed.
[[nodiscard]] std::vector<Explanation> explain_of_interest(const PreparedRun& run,
                                                           const Analysis& analysis);
/// Of a scheme that is for a target: what it could compute on codes.
[[nodiscard]] std::vector<Explanation> explain_computations(const PreparedRun& run,
                                                            const Analysis& analysis);
/// What `plan`, of the file `path`, decides differently. It is followed as it was made, whatever
/// the run excludes; where it cannot be, a note says why, and of its side only what it selected is
/// known. `impossible` for a plan of another model.
[[nodiscard]] Expected<std::vector<ExplainedDifference>> differences_from(const PreparedRun& run,
                                                                          const Analysis& analysis,
                                                                          const Plan& plan,
                                                                          const std::string& path);

}  // namespace quadrant::inline v0
