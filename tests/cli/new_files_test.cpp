#include "cli/new_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "temporary_folder.hpp"

using namespace quadrant;
using quadrant::cli::NewFiles;
using quadrant::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> names{"a", "b"};

void fill(const NewFiles& files) {
  for (const std::string& name : names) std::ofstream(files.place_of(name)) << "new";
}

}  // namespace

TEST_CASE("files appear together, when they are committed") {
  const TemporaryFolder folder;
  folder.write("out/a", "old");
  folder.write("out/c", "other");
  {
    auto files = NewFiles::create(folder / "out", names);
    REQUIRE(files.has_value());
    fill(*files);
    CHECK(folder.read("out/a") == "old");
    CHECK_FALSE(fs::exists(folder / "out/b"));
    NewFiles moved = *std::move(files);
    REQUIRE(moved.commit(names).has_value());
    CHECK(folder.read("out/a") == "new");
    CHECK(folder.read("out/b") == "new");
  }
  CHECK(folder.read("out/a") == "new");
  CHECK(folder.read("out/c") == "other");
  CHECK(std::distance(fs::directory_iterator(folder / "out"), {}) == 3);
}

TEST_CASE("what is not committed leaves everything as it was") {
  const TemporaryFolder folder;
  folder.write("old/a", "old");
  for (const char* name : {"old", "new/deep"}) {
    auto files = NewFiles::create(folder / name, names);
    REQUIRE(files.has_value());
    fill(*files);
  }
  CHECK(folder.read("old/a") == "old");
  CHECK(std::distance(fs::directory_iterator(folder / "old"), {}) == 1);
  CHECK_FALSE(fs::exists(folder / "new"));
}

TEST_CASE("where files cannot be put") {
  const TemporaryFolder folder;
  folder.write("file", "");
  fs::create_directories(folder / "out/b");
  for (const std::string& path : {folder / "file", folder / "file/below"}) {
    const auto files = NewFiles::create(path, names);
    REQUIRE_FALSE(files.has_value());
    CHECK(files.error().code == ErrorCode::io);
    CHECK(files.error().place.file == path);
  }
  const auto files = NewFiles::create(folder / "out", names);
  REQUIRE_FALSE(files.has_value());
  CHECK(files.error().place.file == folder / "out/b");
  CHECK(fs::exists(folder / "out/b"));

  // Seen before the work, not when it is done.
  CHECK(NewFiles::create(folder / "long", std::vector{std::string(255, 'a')}).has_value());
  const auto too_long = NewFiles::create(folder / "long", std::vector{std::string(256, 'a')});
  REQUIRE_FALSE(too_long.has_value());
  CHECK(too_long.error().code == ErrorCode::io);

  auto missing = NewFiles::create(folder / "none", names);
  REQUIRE(missing.has_value());
  const auto status = missing->commit(names);  // nobody made them
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().place.file == folder / "none/a");
}
