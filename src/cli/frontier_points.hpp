// The frontier of a budget, as pages and pictures show it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/budget.hpp"
#include "quadrant/report/frontier.hpp"
#include "quadrant/report/html_report.hpp"

namespace quadrant::cli {

/// The points of `study.frontier()`, in their order, as `point 1` and so on. `chosen`, which may be
/// null, is marked: the point of the same options, or one of its own that is beside the line.
[[nodiscard]] std::vector<FrontierPoint> frontier_points(const BudgetStudy& study,
                                                         std::span<const BudgetPoint> points,
                                                         const BudgetOutcome* chosen);

/// What the picture shows, in a sentence or two.
[[nodiscard]] std::string frontier_note(bool at_outputs);

/// Puts the frontier that `outcome` was chosen from into a page, and what came of the budget.
void add_frontier(HtmlReport& report, const BudgetSubject& decided, const BudgetOutcome& outcome,
                  const BudgetOptions& options);

}  // namespace quadrant::cli
