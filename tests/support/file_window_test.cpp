#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "quadrant/support/files.hpp"
#include "support/input_file.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using quadrant::test::TemporaryFolder;

TEST_CASE("a window shows a range of the file, and outlives it") {
  const TemporaryFolder folder;
  std::string contents(20000, '\0');
  for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<char>(i * 7 % 251);
  std::optional<FileWindow> window;
  {
    const auto file = InputFile::open(folder.write("a", contents));
    REQUIRE(file.has_value());
    window.emplace(file->window(4099, 9001).value());
    CHECK_FALSE(file->window(0, 0).has_value());
    CHECK_FALSE(file->window(19999, 2).has_value());
    CHECK(file->window(19999, 1).has_value());
  }
  const FileWindow moved = *std::move(window);
  const auto expected = std::as_bytes(std::span(contents)).subspan(4099, 9001);
  CHECK(std::ranges::equal(moved.bytes(), expected));
}

TEST_CASE("there is no window on what a file no longer has") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", std::string(10000, 'a'));
  const auto file = InputFile::open(path);
  REQUIRE(file.has_value());
  std::filesystem::resize_file(path, 5000);
  CHECK_FALSE(file->window(0, 10000).has_value());
  CHECK_FALSE(file->window(9000, 10).has_value());
  CHECK(file->window(0, 5000).has_value());
  CHECK_FALSE(file->window(4099, std::numeric_limits<std::size_t>::max()).has_value());
}
