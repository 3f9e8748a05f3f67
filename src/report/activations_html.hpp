// The activations of a report as a part of a page.
#pragma once

#include "quadrant/report/summary.hpp"
#include "report/html_page.hpp"

namespace quadrant::inline v0 {

/// A table with a row for each, worst first, that opens to its histogram.
[[nodiscard]] HtmlSection activations_section(const ActivationReport& report);

}  // namespace quadrant::inline v0
