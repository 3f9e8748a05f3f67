// The words of Clip.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {

inline constexpr std::array<std::pair<std::string_view, Clip>, 3> clip_words{
    {{"absmax", Clip::absmax}, {"minmax", Clip::minmax}, {"mse", Clip::mse}}};

[[nodiscard]] constexpr std::string_view to_string(Clip clip) noexcept {
  return std::ranges::find(clip_words, clip, &decltype(clip_words)::value_type::second)->first;
}

/// Empty for other words.
[[nodiscard]] constexpr std::optional<Clip> parse_clip(std::string_view word) noexcept {
  const auto* const found =
      std::ranges::find(clip_words, word, &decltype(clip_words)::value_type::first);
  return found == clip_words.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace quadrant::inline v0
