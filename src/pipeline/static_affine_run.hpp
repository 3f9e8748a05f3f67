// What static_affine does in a run: ranges of samples, statistics or files of encodings.
#pragma once

#include "pipeline/scheme_run.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] Expected<void> check_static_affine(const RunRequest& request,
                                                 const SchemeChoices& choices);
[[nodiscard]] Expected<Registry> make_static_affine(SchemeSubject& subject,
                                                    const SchemeChoices& chosen);

inline constexpr SchemeRun static_affine_run{"static_affine", check_static_affine,
                                             make_static_affine};

}  // namespace quadrant::inline v0
