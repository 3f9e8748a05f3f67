#include "cli/new_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace quadrant::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refused(const std::string& path, const std::error_code& error) {
  return fail(ErrorCode::io, fmt::format("cannot write here: {}", error.message()), {.file = path});
}

}  // namespace

Expected<NewFiles> NewFiles::create(const std::string& path, std::span<const std::string> names) {
  std::error_code error;
  NewFiles files(path);
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path()) {
    files.made_.push_back(folder.string());
  }
  fs::create_directories(path, error);
  if (error) return refused(path, error);
  for (const std::string& name : names) {
    const fs::path target = fs::path(path) / name;
    const fs::file_status status = fs::status(target, error);
    // A name that is too long, for one.
    if (status.type() == fs::file_type::none) return refused(target.string(), error);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      return fail(ErrorCode::io, "cannot write the file: there is something that is no file",
                  {.file = target.string()});
    }
  }
  std::string hidden = (fs::path(path) / ".quadrant-XXXXXX").string();
  if (::mkdtemp(hidden.data()) == nullptr) {
    return refused(path, std::error_code(errno, std::generic_category()));
  }
  files.hidden_ = std::move(hidden);
  return files;
}

NewFiles::NewFiles(NewFiles&& other) noexcept
    : path_(std::move(other.path_)),
      made_(std::exchange(other.made_, {})),
      hidden_(std::exchange(other.hidden_, {})),
      committed_(other.committed_) {}

NewFiles::~NewFiles() {
  std::error_code ignored;
  if (!hidden_.empty()) fs::remove_all(hidden_, ignored);
  if (committed_) return;
  for (const std::string& folder : made_) fs::remove(folder, ignored);  // if nothing else is in it
}

std::string NewFiles::place_of(const std::string& name) const {
  return (fs::path(hidden_) / name).string();
}

Expected<void> NewFiles::commit(std::span<const std::string> names) {
  committed_ = true;
  for (const std::string& name : names) {
    const std::string target = (fs::path(path_) / name).string();
    std::error_code error;
    fs::rename(place_of(name), target, error);
    if (error) return refused(target, error);
  }
  return {};
}

}  // namespace quadrant::cli
