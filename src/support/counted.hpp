// Numbers of things, in texts for people.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

/// `noun` in the singular, or with an s where there is not one alone.
[[nodiscard]] std::string plural(std::integral auto count, std::string_view noun) {
  return fmt::format("{}{}", noun, count == 1 ? "" : "s");
}

/// `1 layer`, `2 layers`.
[[nodiscard]] std::string counted(std::integral auto count, std::string_view noun) {
  return fmt::format("{} {}", count, plural(count, noun));
}

}  // namespace quadrant::inline v0
