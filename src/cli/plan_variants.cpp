#include "cli/plan_variants.hpp"

#include <fmt/format.h>

#include <string>

#include "quadrant/pipeline/weight_budget.hpp"

namespace quadrant::cli {

Expected<void> use_variants_of(const Plan& plan, const DecisionOptions& options, PreparedRun& run) {
  if (options.recipe.scheme.empty()) return {};
  QUADRANT_TRY(const bool is_of_budget, is_of_variants(plan));
  if (!is_of_budget) return {};
  QUADRANT_TRY(const SchemeEntry* const scheme, find_scheme(options.recipe.scheme));
  const std::string given = options.schemes.given_option(*scheme);
  if (given.empty()) return use_variants(run);
  return fail(ErrorCode::usage,
              fmt::format("--plan is of a budget, which chose bits, blocks and scales for each "
                          "weight: {} does not go with it",
                          given));
}

}  // namespace quadrant::cli
