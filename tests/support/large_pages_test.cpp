#include "support/large_pages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace quadrant {
namespace {

TEST_CASE("advice on pages leaves what is there, wherever it begins and ends") {
  constexpr std::size_t size = std::size_t{9} << 20U;
  std::vector<std::byte> bytes(size, std::byte{0xA5});
  for (const std::size_t begin :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, size - 1, size}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size / 2, size}) {
      const auto part = std::span(bytes).subspan(begin);
      prefer_large_pages(part.first(std::min(count, part.size())));
    }
  }
  CHECK(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0xA5}; }));
  prefer_large_pages({});
}

}  // namespace
}  // namespace quadrant
