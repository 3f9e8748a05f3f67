// low_rank, as a step of a run: products are corrected by two more of a small rank.
#pragma once

#include <cstddef>
#include <memory>

#include "pipeline/scheme_run.hpp"
#include "quadrant/numerics/second_moments.hpp"

namespace quadrant::inline v0 {

/// Does so with what the phases made, by these moments (null: none), and tells what it came to; the
/// subject's `low_rank` has it then.
[[nodiscard]] SchemeSteps::Finish low_rank_step(SchemeSubject& subject, std::size_t rank,
                                                std::shared_ptr<const SecondMomentsTable> moments);

}  // namespace quadrant::inline v0
