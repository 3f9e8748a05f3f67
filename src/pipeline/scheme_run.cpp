#include "pipeline/scheme_run.hpp"

#include <algorithm>
#include <array>

#include "pipeline/static_affine_run.hpp"
#include "pipeline/weight_only_run.hpp"

namespace quadrant::inline v0 {

std::span<const SchemeRun> scheme_runs() {
  static constexpr std::array runs{static_affine_run, weight_only_run};
  return runs;
}

const SchemeRun* find_scheme_run(std::string_view scheme) {
  const auto runs = scheme_runs();
  const auto found = std::ranges::find(runs, scheme, &SchemeRun::scheme);
  return found == runs.end() ? nullptr : &*found;
}

Expected<void> check_options(std::span<const SchemeChoice> choices) {
  for (const SchemeChoice& choice : choices) {
    if (choice.name != choice.scheme) {
      QUADRANT_CHECK(check(choice));
      continue;
    }
    QUADRANT_TRY(const SchemeEntry* const entry, find_scheme(choice.scheme));
    QUADRANT_CHECK(entry->make(choice.options, {}));
  }
  return {};
}

}  // namespace quadrant::inline v0
