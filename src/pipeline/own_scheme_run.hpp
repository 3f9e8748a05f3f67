// What a scheme that is not the library's gets in a run: what its entry says that it needs.
#pragma once

#include "pipeline/scheme_run.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] Expected<void> check_own_scheme(const RunRequest& request,
                                              const SchemeChoices& choices);
[[nodiscard]] Expected<Registry> make_own_scheme(SchemeSubject& subject,
                                                 const SchemeChoices& chosen);

inline constexpr SchemeRun own_scheme_run{"", check_own_scheme, make_own_scheme};

}  // namespace quadrant::inline v0
