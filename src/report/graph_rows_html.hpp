// The graph as a part of a page.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/report/tables.hpp"

namespace quadrant::inline v0 {

/// A legend, and a row for each operation that opens to its reasons. Gains are in `unit`.
[[nodiscard]] std::string graph_html(const GraphRows& graph, std::string_view unit);

}  // namespace quadrant::inline v0
