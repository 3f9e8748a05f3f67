// Texts that the tests of this room change and look into.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace quadrant::test {

/// With `to` in place of the first `from`, which there must be.
inline std::string edited(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

inline bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace quadrant::test
