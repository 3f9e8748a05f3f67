#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "quadrant/support/files.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
namespace fs = std::filesystem;

namespace {

using Folder = test::TemporaryFolder;

std::span<const std::byte> bytes(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a file appears when it is committed, and not before") {
  const Folder folder;
  {
    auto file = NewFile::create(folder / "a");
    REQUIRE(file.has_value());
    REQUIRE(file->write(bytes("one ")).has_value());
    REQUIRE(file->write(bytes("two")).has_value());
    CHECK_FALSE(fs::exists(folder / "a"));
    REQUIRE(file->commit().has_value());
    CHECK(contents(folder / "a") == "one two");
  }
  CHECK(folder.names().size() == 1);
}

TEST_CASE("parts of a file may be written in any order") {
  const Folder folder;
  auto file = NewFile::create(folder / "a");
  REQUIRE(file.has_value());
  REQUIRE(file->write_at(5, bytes("world")).has_value());
  REQUIRE(file->write_at(0, bytes("hello")).has_value());
  REQUIRE(file->commit().has_value());
  CHECK(contents(folder / "a") == "helloworld");
}

TEST_CASE("what is not committed leaves nothing, and an old file as it was") {
  const Folder folder;
  std::ofstream(folder / "a") << "old";
  {
    auto file = NewFile::create(folder / "a");
    REQUIRE(file.has_value());
    REQUIRE(file->write(bytes("new")).has_value());
    const NewFile moved = *std::move(file);
  }
  CHECK(contents(folder / "a") == "old");
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a program that is stopped leaves nothing") {
  const Folder folder;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto file = NewFile::create(folder / "a");
    const bool written = file && file->write(bytes("new"));
    ::_exit(written ? 0 : 1);  // without destructors, as a signal would
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  // Where the file system has files without a name.
  const int nameless = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0666);
  if (nameless >= 0) {
    ::close(nameless);
    CHECK(folder.names().empty());
  } else {
    CHECK(folder.names().size() == 1);
  }
}

TEST_CASE("two at a time, for the same place: the last one stays") {
  const Folder folder;
  auto first = NewFile::create(folder / "a");
  auto second = NewFile::create(folder / "a");
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  REQUIRE(first->write(bytes("first")).has_value());
  REQUIRE(second->write(bytes("second")).has_value());
  REQUIRE(second->commit().has_value());
  REQUIRE(first->commit().has_value());
  CHECK(contents(folder / "a") == "first");
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a symbolic link stays one") {
  const Folder folder;
  std::ofstream(folder / "target") << "old";
  fs::create_symlink(folder / "target", folder / "link");
  auto file = NewFile::create(folder / "link");
  REQUIRE(file.has_value());
  REQUIRE(file->write(bytes("new")).has_value());
  REQUIRE(file->commit().has_value());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(contents(folder / "target") == "new");
}

TEST_CASE("a symbolic link to nothing stays one, too") {
  const Folder folder;
  fs::create_directory(folder / "below");
  fs::create_symlink("below/target", folder / "link");
  fs::create_symlink("link", folder / "link to it");
  auto file = NewFile::create(folder / "link to it");
  REQUIRE(file.has_value());
  REQUIRE(file->write(bytes("new")).has_value());
  REQUIRE(file->commit().has_value());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_symlink(folder / "link to it"));
  CHECK(contents(folder / "below/target") == "new");
}

TEST_CASE("a file leaves its permissions to the one that replaces it") {
  const Folder folder;
  std::ofstream(folder / "a") << "old";
  for (const auto mode : {fs::perms{0600}, fs::perms{0755}}) {
    fs::permissions(folder / "a", mode);
    auto file = NewFile::create(folder / "a");
    REQUIRE(file.has_value());
    REQUIRE(file->commit().has_value());
    CHECK(fs::status(folder / "a").permissions() == mode);
  }
}

TEST_CASE("the longest name that there can be") {
  const Folder folder;
  const std::string name(255, 'x');
  for (int i = 0; i < 2; ++i) {
    auto file = NewFile::create(folder / name);
    REQUIRE(file.has_value());
    REQUIRE(file->write(bytes("new")).has_value());
    REQUIRE(file->commit().has_value());
  }
  CHECK(folder.names().size() == 1);
}

TEST_CASE("places that cannot be written are io errors that name the file") {
  const Folder folder;
  for (const std::string& path : {folder / "missing/a", folder.path()}) {
    const auto file = NewFile::create(path);
    REQUIRE_FALSE(file.has_value());
    CHECK(file.error().code == ErrorCode::io);
    CHECK(file.error().place.file == path);
  }
}
