// What static_affine does in a run: ranges of samples, statistics or files of encodings.
#pragma once

#include "pipeline/scheme_run.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] Expected<void> check_static_affine(const RunRequest& request,
                                                 const SchemeChoices& choices);
[[nodiscard]] Expected<Registry> make_static_affine(SchemeSubject& subject,
                                                    const SchemeChoices& chosen);

/// What occurs on the samples, of which there are some, in the subject's graph.
/// A warning, where statistics that were saved are of other contents than the model.
void tell_other_model(const SchemeSubject& subject, const StatisticsTable& statistics);

[[nodiscard]] Expected<StatisticsTable> observe(const SchemeSubject& subject, bool histograms);
/// Adds those that the model has itself, and leaves untold what they hold.
void take_own_statistics(SchemeSubject& subject, StatisticsTable& statistics);

inline constexpr SchemeRun static_affine_run{"static_affine", check_static_affine,
                                             make_static_affine};

}  // namespace quadrant::inline v0
