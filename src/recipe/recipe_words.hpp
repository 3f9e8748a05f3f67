// What recipes are called and what words they are made of: for reading, printing and their schema.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0 {

inline constexpr std::string_view recipe_format = "quadrant.recipe";
inline constexpr std::int64_t recipe_version = 1;
inline constexpr double most_target_bits = 64;
inline constexpr std::array<std::string_view, 2> non_finite_words{"refuse", "leave"};
/// What is wrong with them; nothing: nothing.
[[nodiscard]] std::optional<std::string> refusal_of_target_bits(double bits);
/// Those that are quantized.
inline constexpr std::array rule_types{ElementType::float32, ElementType::float16,
                                       ElementType::bfloat16, ElementType::float64};

/// `f32, f16, bf16, f64`
[[nodiscard]] inline std::string rule_type_names() {
  std::string names;
  for (const ElementType type : rule_types) {
    if (!names.empty()) names += ", ";
    names += to_string(type);
  }
  return names;
}

}  // namespace quadrant::inline v0
