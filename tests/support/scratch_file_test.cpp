#include <doctest/doctest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "quadrant/support/files.hpp"
#include "temporary_folder.hpp"

namespace quadrant {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, unsigned value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST_CASE("what was appended is read from any place in it, and the folder stays empty") {
  const test::TemporaryFolder folder;
  const auto file = ScratchFile::create(folder.path()).value();
  CHECK(file->append(bytes_of(3, 1)).value() == 0);
  CHECK(file->append({}).value() == 3);
  CHECK(file->append(bytes_of(5, 2)).value() == 3);
  std::vector<std::byte> read(4);
  REQUIRE(file->read(2, read));
  CHECK(read == std::vector{std::byte{1}, std::byte{2}, std::byte{2}, std::byte{2}});
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("threads append at the same time") {
  const test::TemporaryFolder folder;
  const auto file = ScratchFile::create(folder.path()).value();
  std::vector<std::uint64_t> begins(4);
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { begins[i] = file->append(bytes_of(10'000 + i, i)).value(); });
    }
  }
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<std::byte> read(10'000 + i);
    REQUIRE(file->read(begins[i], read));
    CHECK(read == bytes_of(read.size(), i));
  }
}

TEST_CASE("errors name the folder") {
  const auto missing = ScratchFile::create("/no/such/folder");
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::io);
  CHECK(missing.error().place.file == "/no/such/folder");
  const test::TemporaryFolder folder;
  const auto file = ScratchFile::create(folder.path()).value();
  std::vector<std::byte> read(1);
  CHECK(!file->read(0, read));  // nothing was appended
}

}  // namespace
}  // namespace quadrant
