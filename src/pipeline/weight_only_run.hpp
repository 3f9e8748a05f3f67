// What weight_only does in a run: codes rounded by samples.
#pragma once

#include <memory>

#include "pipeline/optimizations.hpp"
#include "pipeline/scheme_run.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] Expected<void> check_weight_only(const RunRequest& request,
                                               const SchemeChoices& choices);
[[nodiscard]] Expected<Registry> make_weight_only(SchemeSubject& subject,
                                                  const SchemeChoices& chosen);

// What schemes for weights have in common.

/// Mistakes in what is done to the float model before that show without it.
[[nodiscard]] Expected<void> check_transform_for(const RunRequest& request,
                                                 const Optimizations& wanted);
/// Does it, unless another scheme of the run has done so.
[[nodiscard]] Expected<void> transform_for(SchemeSubject& subject, const Optimizations& wanted);
/// Of what the samples, of which there are some, multiply each weight by.
[[nodiscard]] Expected<std::shared_ptr<SecondMomentsTable>> moments_of(SchemeSubject& subject);
/// Has `data` round weights by these moments, and the run's log hear what that comes to.
void round_by(std::shared_ptr<const SecondMomentsTable> moments, SchemeSubject& subject,
              SchemeData& data);

inline constexpr SchemeRun weight_only_run{"weight_only", check_weight_only, make_weight_only};

}  // namespace quadrant::inline v0
