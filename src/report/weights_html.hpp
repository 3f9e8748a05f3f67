// The weights as a part of a page.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/report/summary.hpp"

namespace quadrant::inline v0 {

/// A bar of bytes before and after, and a table: one group of rows for each weight, the second of
/// which has its histogram and its reasons. Gains are in `unit`.
[[nodiscard]] std::string weights_html(const WeightReport& report, std::string_view unit);

}  // namespace quadrant::inline v0
