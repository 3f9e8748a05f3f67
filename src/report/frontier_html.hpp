// The frontier as a part of a page.
#pragma once

#include <span>
#include <string>

#include "quadrant/report/frontier.hpp"

namespace quadrant::inline v0 {

/// The picture and a table of the points.
[[nodiscard]] std::string frontier_html(std::span<const FrontierPoint> points);

}  // namespace quadrant::inline v0
