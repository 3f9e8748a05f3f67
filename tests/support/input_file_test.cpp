#include "support/input_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "temporary_folder.hpp"

using namespace quadrant;
using quadrant::test::TemporaryFolder;

namespace {

std::string text(const InputFile& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  REQUIRE(file.read(offset, std::as_writable_bytes(std::span(bytes))).has_value());
  return bytes;
}

}  // namespace

TEST_CASE("a file is read from any place") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "0123456789");
  auto file = InputFile::open(path);
  REQUIRE(file.has_value());
  CHECK(file->path() == path);
  CHECK(file->size() == 10);
  CHECK(text(*file, 7, 3) == "789");
  CHECK(text(*file, 0, 10) == "0123456789");
  CHECK(text(*file, 10, 0).empty());
  const InputFile moved = *std::move(file);
  CHECK(text(moved, 1, 2) == "12");
}

TEST_CASE("a file stays what it was when another takes its place") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  const auto file = InputFile::open(path);
  REQUIRE(file.has_value());
  std::filesystem::rename(folder.write("b", "new"), path);
  CHECK(text(*file, 0, 3) == "old");
}

TEST_CASE("what cannot be read is named") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {folder / "none", folder.path(), pipe}) {
    CAPTURE(path);
    const auto file = InputFile::open(path);
    REQUIRE_FALSE(file.has_value());
    CHECK(file.error().code == ErrorCode::io);
    CHECK(file.error().place.file == path);
  }
  CHECK(InputFile::open(folder / "none").error().message.find("cannot open") == 0);
}

TEST_CASE("a file that became shorter") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "0123456789");
  const auto file = InputFile::open(path);
  REQUIRE(file.has_value());
  std::filesystem::resize_file(path, 4);
  std::array<std::byte, 6> bytes{};
  const auto status = file->read(2, bytes);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == ErrorCode::io);
  CHECK(status.error().place.offset == 4);
}

TEST_CASE("all of a file at once, unless it is too large") {
  const TemporaryFolder folder;
  const auto file = InputFile::open(folder.write("a", "0123456789"));
  REQUIRE(file.has_value());
  CHECK(file->text(10, "texts") == "0123456789");
  const auto refused = file->text(9, "texts");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::io);
  CHECK(refused.error().message == "10 bytes: texts of more than 9 are not read");
}
