// The frontier as a part of a page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "quadrant/report/tables.hpp"

namespace quadrant::inline v0 {

/// The lines of `note`, the picture, and a table of the points.
[[nodiscard]] std::string frontier_html(std::span<const FrontierPoint> points,
                                        std::string_view note);

}  // namespace quadrant::inline v0
