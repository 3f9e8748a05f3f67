#include "pipeline/rule_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"

namespace quadrant::inline v0 {

std::vector<RuleSummary> summarize_rules(const PreparedRun& run, const Analysis& analysis) {
  std::vector<RuleSummary> summaries;
  const std::vector<RecipeRule>& rules = run.recipe.recipe.rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleEffect& effect = run.rules.effects[i];
    RuleSummary summary{rules[i].match == RuleMatch{} ? "" : print_match(rules[i].match),
                        effect.schemes.empty()
                            ? std::string("float")
                            : fmt::format("{}", fmt::join(effect.schemes, " or ")),
                        effect.matched,
                        effect.decided,
                        effect.weights.size(),
                        0};
    summary.quantized = static_cast<std::uint64_t>(std::ranges::count_if(
        effect.weights, [&](Value weight) { return analysis.selection.is_selected(weight); }));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::string print_rules(const std::vector<RuleSummary>& rules) {
  using enum Table::Align;
  Table table({{"rule", right},
               {"matches"},
               {"scheme"},
               {"nodes", right},
               {"decides", right},
               {"weights", right},
               {"quantized", right}});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleSummary& rule = rules[i];
    table.add({fmt::to_string(i + 1), rule.match.empty() ? "everything" : rule.match, rule.scheme,
               fmt::to_string(rule.matched), fmt::to_string(rule.decided),
               fmt::to_string(rule.weights), fmt::to_string(rule.quantized)});
  }
  return table.print();
}

Json to_json(const std::vector<RuleSummary>& rules) {
  Json list = Json::array();
  for (const RuleSummary& rule : rules) {
    list.push_back({{"match", rule.match.empty() ? Json::object() : Json::parse(rule.match)},
                    {"scheme", rule.scheme},
                    {"matched", rule.matched},
                    {"decided", rule.decided},
                    {"weights", rule.weights},
                    {"quantized", rule.quantized}});
  }
  return list;
}

}  // namespace quadrant::inline v0
