#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "quadrant/support/files.hpp"
#include "support/input_file.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using quadrant::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// A complete file, not yet in place.
NewFile made(FileTransaction& files, const std::string& path, std::string_view contents) {
  auto file = files.create(path);
  REQUIRE(file.has_value());
  REQUIRE(file->write(std::as_bytes(std::span(contents))).has_value());
  return *std::move(file);
}

void check_usage(const Expected<void>& status, const std::string& path) {
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == ErrorCode::usage);
  CHECK(status.error().place.file == path);
}

}  // namespace

TEST_CASE("two files of one name are not committed") {
  const TemporaryFolder folder;
  folder.write("a", "old");
  FileTransaction files;
  REQUIRE(files.add(made(files, folder / "a", "1")).has_value());
  REQUIRE(files.add(made(files, folder / "a", "2")).has_value());
  check_usage(files.commit(), folder / "a");
  CHECK(folder.read("a") == "old");
}

TEST_CASE("what is read is not written, whichever is known first") {
  const TemporaryFolder folder;
  folder.write("model", "");
  fs::create_symlink("model", folder / "link");
  fs::create_hard_link(folder / "model", folder / "twin");
  for (const char* name : {"model", "link", "twin"}) {
    FileTransaction reads_first;
    REQUIRE(InputFile::open(folder / "model", &reads_first).has_value());
    check_usage(reads_first.announce(folder / name, "--report"), folder / name);
    const auto created = reads_first.create(folder / name);
    REQUIRE_FALSE(created.has_value());
    CHECK(created.error().code == ErrorCode::usage);

    FileTransaction writes_first;
    REQUIRE(writes_first.announce(folder / name, "--report").has_value());
    const auto opened = InputFile::open(folder / "model", &writes_first);
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().code == ErrorCode::usage);
    CHECK(opened.error().message.find("--report") != std::string::npos);
    check_usage(writes_first.read(folder / "model"), folder / "model");
  }
}

TEST_CASE("two outputs are two files") {
  const TemporaryFolder folder;
  folder.write("old", "");
  fs::create_hard_link(folder / "old", folder / "twin");
  fs::create_symlink("new", folder / "link");
  const std::vector<std::pair<std::string, std::string>> same{
      {"new", "new"}, {"new", "./new"}, {"new", "link"}, {"old", "twin"}};
  for (const auto& [first, second] : same) {
    FileTransaction files;
    REQUIRE(files.announce(folder / first, "--report").has_value());
    const auto status = files.announce(folder / second, "--dot");
    check_usage(status, folder / second);
    CHECK(status.error().message.find("--report and --dot") != std::string::npos);
  }
}

TEST_CASE("what may be replaced may be for one cause alone") {
  const TemporaryFolder folder;
  folder.write("model", "old");
  FileTransaction files;
  files.allow_over(folder / "model", "--output");
  REQUIRE(files.read(folder / "model").has_value());
  CHECK_FALSE(files.announce(folder / "model", "--report").has_value());
  REQUIRE(files.announce(folder / "model", "--output").has_value());
  REQUIRE(files.add(made(files, folder / "model", "new")).has_value());
  CHECK(folder.read("model") == "old");
  REQUIRE(files.commit().has_value());
  CHECK(folder.read("model") == "new");
}

TEST_CASE("files appear together, or none does") {
  const TemporaryFolder folder;
  folder.write("a", "old");
  folder.write("c", "old");
  for (const bool fails : {true, false}) {
    FileTransaction files;
    for (const char* name : {"a", "b"}) {
      REQUIRE(files.add(made(files, folder / name, "new")).has_value());
    }
    files.add_model(made(files, folder / "c", "new"));
    // A folder that takes the model's place.
    if (fails) {
      fs::rename(folder / "c", folder / "kept");
      fs::create_directories(folder / "c/full");
    }
    CHECK(files.commit().has_value() == !fails);
    if (fails) {
      CHECK(folder.read("a") == "old");
      CHECK_FALSE(fs::exists(folder / "b"));
      fs::remove_all(folder / "c");
      fs::rename(folder / "kept", folder / "c");
    }
  }
  for (const char* name : {"a", "b", "c"}) CHECK(folder.read(name) == "new");
  CHECK(folder.names().size() == 3);
}

TEST_CASE("what is not committed leaves nothing") {
  const TemporaryFolder folder;
  {
    FileTransaction files;
    REQUIRE(files.make_folder(folder / "new/deep").has_value());
    for (int i = 0; i < 200; ++i) {  // more than are kept open
      const std::string path = folder / ("new/deep/" + std::to_string(i));
      REQUIRE(files.add(made(files, path, "new")).has_value());
    }
  }
  CHECK(folder.names().empty());
}

TEST_CASE("more files than may be open, from several threads") {
  const TemporaryFolder folder;
  FileTransaction files;
  REQUIRE(files.make_folder(folder / "out").has_value());
  constexpr int count = 1200;
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) {
      auto file = files.create(folder / ("out/" + std::to_string(i)));
      if (file) std::ignore = files.add(*std::move(file));
    }
  };
  std::thread other(work);
  work();
  other.join();
  REQUIRE(files.commit().has_value());
  CHECK(std::distance(fs::directory_iterator(folder / "out"), {}) == count);
}

TEST_CASE("a file that got the inode of one that is gone is another file") {
  const TemporaryFolder folder;
  folder.write("first", "old");
  FileTransaction files;
  REQUIRE(files.announce(folder / "first", "").has_value());
  const auto inode = [&](const std::string& name) {
    struct stat status{};
    REQUIRE(::stat((folder / name).c_str(), &status) == 0);
    return status.st_ino;
  };
  const auto gone = inode("first");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // no two files are born in one tick
  fs::remove(folder / "first");
  // Some systems give the number to the next file, some never.
  std::string last;
  for (int i = 0; i < 100; ++i) {
    last = std::to_string(i);
    folder.write(last, "new");
    if (inode(last) == gone) break;
  }
  const auto status = files.announce(folder / last, "");
  CHECK(status.has_value());
}

TEST_CASE("a model never has the data of another one") {
  const TemporaryFolder folder;
  // Two writers, of which each writes pairs with a number of its own, and a reader.
  std::atomic<bool> is_over = false;
  std::atomic<int> failures = 0;
  const auto write_pairs = [&](int writer) {
    for (int i = 0; i < 200; ++i) {
      const std::string contents = std::to_string(writer) + "." + std::to_string(i);
      FileTransaction files;
      auto data = files.create(folder / "m.bin");
      auto model = files.create(folder / "m.xml");
      const auto bytes = std::as_bytes(std::span(contents));
      if (!data || !model || !data->write(bytes) || !model->write(bytes)) {
        ++failures;
        continue;
      }
      files.add_model(*std::move(model), *std::move(data), true);
      if (!files.commit()) ++failures;
    }
  };
  int mixed = 0;
  std::thread reader([&] {
    while (!is_over) {
      // Data that is there both before and after the model was read is the model's, if no model was
      // put in place between: read the model again.
      const std::string model = folder.read("m.xml");
      const std::string data = folder.read("m.bin");
      if (model == folder.read("m.xml") && !model.empty() && !data.empty() && model != data) {
        ++mixed;
      }
    }
  });
  std::thread first(write_pairs, 1);
  std::thread second(write_pairs, 2);
  first.join();
  second.join();
  is_over = true;
  reader.join();
  CHECK(failures == 0);
  CHECK(folder.read("m.xml") == folder.read("m.bin"));
  CHECK(folder.names().size() == 2);
}

TEST_CASE("a program that is stopped leaves the old pair, the new one, or no model") {
  const TemporaryFolder folder;
  for (int i = 0; i < 60; ++i) {
    folder.write("m.xml", "old");
    folder.write("m.bin", "old");
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      FileTransaction files;
      auto data = files.create(folder / "m.bin");
      auto model = files.create(folder / "m.xml");
      const std::string_view contents = "new";
      const auto bytes = std::as_bytes(std::span(contents));
      if (!data || !model || !data->write(bytes) || !model->write(bytes)) ::_exit(1);
      files.add_model(*std::move(model), *std::move(data), true);
      std::ignore = files.commit();
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(20 * i));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (fs::exists(folder / "m.xml")) CHECK(folder.read("m.xml") == folder.read("m.bin"));
    for (const std::string& name : folder.names()) {
      CHECK((name == "m.xml" || name == "m.bin" || name.starts_with(".quadrant-")));
    }
  }
}
