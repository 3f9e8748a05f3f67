// The scheme as the command serves it: a name, options, and what makes the methods of them.
#pragma once

#include "quadrant/recipe/scheme_table.hpp"

namespace my {

/// For `SchemeTable::add`.
[[nodiscard]] quadrant::SchemeEntry power_of_two();

}  // namespace my
