// The outcome of a budget, and the frontier that it was chosen from, as text, JSON, pages and
// pictures show it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/report/tables.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// Some lines: size, forms, errors, and how far the best may be.
[[nodiscard]] std::string to_string(const BudgetDecision& decided);
/// With the form of each weight.
[[nodiscard]] Json to_json(const BudgetDecision& decided);

/// `points`, those of `items` from the smallest file on, in their order, as `point 1` and so on.
/// `chosen`, which may be null, is marked: the point of the same options, or one of its own that is
/// beside the line. Its bytes are those of the file, those of the others are predicted.
[[nodiscard]] std::vector<FrontierPoint> frontier_points(std::span<const BudgetItem> items,
                                                         std::span<const BudgetPoint> points,
                                                         const BudgetOutcome* chosen);

/// What the picture shows, in a sentence or two.
[[nodiscard]] std::string frontier_note(bool at_outputs);

/// For terminals: a table of the points, and a picture.
[[nodiscard]] std::string print_frontier(const BudgetStudy& study,
                                         std::span<const BudgetPoint> points, bool at_outputs);
/// `weights` and `points`, with the form of each weight.
[[nodiscard]] Json frontier_json(const BudgetStudy& study, std::span<const BudgetPoint> points);

/// Puts the frontier that was chosen from into a page, and what came of the budget.
void add_frontier(HtmlReport& report, const BudgetDecision& decided);

}  // namespace quadrant::inline v0
