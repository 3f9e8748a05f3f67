#include "cli/plan_variants.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "quadrant/pipeline/optimize.hpp"

namespace quadrant::cli {

Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options, PreparedRun& run) {
  if (options.recipe.scheme.empty()) return {};
  const SchemeTable& known = options.schemes.known();
  QUADRANT_TRY(const SchemeEntry* const scheme, known.find(options.recipe.scheme));
  if (scheme->variants == nullptr) return {};
  QUADRANT_TRY(const std::vector<SchemeChoice> variants, scheme->variants());
  if (!is_of_variants(plan, variants)) return {};
  const std::string given = options.schemes.given_option(*scheme);
  if (given.empty()) return use_variants(run, variants);
  return fail(ErrorCode::usage,
              fmt::format("--plan is of a budget, which chose bits, blocks and scales for each "
                          "weight: {} does not go with it",
                          given));
}

}  // namespace quadrant::cli
