// What weight_only does in a run: codes rounded by samples.
#pragma once

#include "pipeline/scheme_run.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] Expected<void> check_weight_only(const RunRequest& request,
                                               const SchemeChoices& choices);
[[nodiscard]] Expected<Registry> make_weight_only(SchemeSubject& subject,
                                                  const SchemeChoices& chosen);

inline constexpr SchemeRun weight_only_run{"weight_only", check_weight_only, make_weight_only};

}  // namespace quadrant::inline v0
