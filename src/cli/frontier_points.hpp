// The frontier of a budget, as pages and pictures show it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/budget.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/report/tables.hpp"

namespace quadrant::cli {

/// `points`, those of `items` from the smallest file on, in their order, as `point 1` and so on.
/// `chosen`, which may be null, is marked: the point of the same options, or one of its own that is
/// beside the line. Its bytes are those of the file, those of the others are predicted.
[[nodiscard]] std::vector<FrontierPoint> frontier_points(std::span<const BudgetItem> items,
                                                         std::span<const BudgetPoint> points,
                                                         const BudgetOutcome* chosen);

/// What the picture shows, in a sentence or two.
[[nodiscard]] std::string frontier_note(BudgetErrors errors);

/// Puts the frontier that was chosen from into a page, and what came of the budget.
void add_frontier(HtmlReport& report, const BudgetDecision& decided);

}  // namespace quadrant::cli
