// The effects of a recipe's rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/pipeline/run.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// A rule, with what became of the weights that it decided.
struct RuleSummary {
  std::string match;   ///< what it says, as in the recipe; empty: everything
  std::string scheme;  ///< `float`, or the schemes, `int8 or int4`
  std::uint64_t matched = 0;
  std::uint64_t decided = 0;
  std::uint64_t weights = 0;    ///< of those that are decided
  std::uint64_t quantized = 0;  ///< of these
};

/// One for each rule of the recipe.
[[nodiscard]] std::vector<RuleSummary> summarize_rules(const PreparedRun& run,
                                                       const Analysis& analysis);
[[nodiscard]] std::string print_rules(const std::vector<RuleSummary>& rules);
[[nodiscard]] Json to_json(const std::vector<RuleSummary>& rules);

}  // namespace quadrant::inline v0
