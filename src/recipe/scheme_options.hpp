// The table of options of each scheme.
#pragma once

#include <span>

#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::inline v0 {

[[nodiscard]] std::span<const OptionSpec> weight_only_option_table();
[[nodiscard]] std::span<const OptionSpec> static_affine_option_table();

}  // namespace quadrant::inline v0
