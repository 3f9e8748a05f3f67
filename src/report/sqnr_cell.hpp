// Decibels in a table of a page.
#pragma once

#include <optional>
#include <string>

namespace quadrant::inline v0 {

/// A `td` that sorts by them: exact ones above all others, none below.
[[nodiscard]] std::string sqnr_cell(const std::optional<double>& sqnr_db);

}  // namespace quadrant::inline v0
