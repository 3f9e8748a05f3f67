#include "pipeline/scheme_run.hpp"

#include <algorithm>
#include <array>

#include "pipeline/own_scheme_run.hpp"
#include "pipeline/static_affine_run.hpp"
#include "pipeline/weight_only_run.hpp"

namespace quadrant::inline v0 {

const SchemeRun& scheme_run_of(std::string_view scheme) {
  static constexpr std::array runs{static_affine_run, weight_only_run};
  static constexpr SchemeRun own = own_scheme_run;
  const auto* const found = std::ranges::find(runs, scheme, &SchemeRun::scheme);
  return found == runs.end() ? own : *found;
}

ScopeOrigin origin_of(const RunRequest& request) {
  return {.recipe = request.recipe.label,
          .include = request.recipe.recipe.include.size() - request.own_includes,
          .exclude = request.recipe.recipe.exclude.size() - request.own_excludes};
}

Expected<void> check_options(const SchemeChoices& choices) {
  for (const SchemeChoice& choice : choices.choices) {
    if (choice.name != choice.scheme) {
      QUADRANT_CHECK(check(choice, choices.schemes));
      continue;
    }
    QUADRANT_TRY(const SchemeEntry* const entry, choices.schemes.find(choice.scheme));
    QUADRANT_CHECK(entry->make(choice.options, {}));
  }
  return {};
}

}  // namespace quadrant::inline v0
