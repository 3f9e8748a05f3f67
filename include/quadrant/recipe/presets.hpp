// Recipes with a name, which come with the library.
#pragma once

#include <span>
#include <string_view>

#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct Preset {
  std::string_view name;
  std::string_view text;  ///< the recipe, as `parse_recipe` reads it
};

/// Sorted by name. Lives as long as the program.
[[nodiscard]] std::span<const Preset> presets();
/// The preset of that name; `usage`, with near names, where there is none.
[[nodiscard]] Expected<const Preset*> find_preset(std::string_view name);

}  // namespace quadrant::inline v0
