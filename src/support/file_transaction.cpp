#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <ranges>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "quadrant/support/files.hpp"
#include "support/file_identity.hpp"

namespace quadrant::inline v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_open = 64;

tl::unexpected<Error> cannot_write(const std::string& path, const std::error_code& error) {
  return fail(ErrorCode::io, fmt::format("cannot write here: {}", error.message()), {.file = path});
}

/// One for each file, be it there or not. As it is where the system does not tell more. Without
/// memory it is not known.
Expected<std::string> canonical_name(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(resolved_path(path), error);
  const fs::path canonical = error ? whole : fs::weakly_canonical(whole, error);
  if (error == std::errc::not_enough_memory) return cannot_write(path, error);
  return error ? path : canonical.string();
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// That a file can be put at `path`: its folder is there, and nothing but a regular file is in its
/// place.
Expected<void> check_place(const std::string& path) {
  std::error_code error;
  const std::string target = resolved_path(path);
  const std::string folder = folder_of(target);
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::io,
                fmt::format("cannot write the file: there is no directory '{}'", folder),
                {.file = path});
  }
  const fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::none) {
    return fail(ErrorCode::io, fmt::format("cannot write the file: {}", error.message()),
                {.file = path});
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return fail(ErrorCode::io,
                "cannot write the file: there is something that is not a regular file",
                {.file = path});
  }
  return {};
}

tl::unexpected<Error> is_read(const std::string& path, const std::string& cause) {
  return fail(ErrorCode::usage,
              cause.empty() ? std::string("this file is read: name another one to write")
                            : fmt::format("{} would write over this file, which is read: name "
                                          "another one",
                                          cause),
              {.file = path});
}

tl::unexpected<Error> is_written_twice(const std::string& path, const std::string& first,
                                       const std::string& second) {
  return fail(ErrorCode::usage,
              first.empty() || second.empty()
                  ? std::string("this file would be written twice")
                  : fmt::format("two options name this file, {} and {}: give each one of its own",
                                first, second),
              {.file = path});
}

/// Folders that nobody else commits to.
class Locks {
 public:
  Locks() = default;
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;
  ~Locks() {
    for (const int descriptor : descriptors_) ::close(descriptor);
  }

  /// In the order of their names: two that want the same ones do not wait for each other.
  [[nodiscard]] Expected<void> lock(const std::set<std::string>& folders) {
    for (const std::string& folder : folders) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX's own
      const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (descriptor < 0 && errno == EACCES) continue;  // it may be written, but not listed
      if (descriptor < 0) return cannot_write(folder, {errno, std::generic_category()});
      descriptors_.push_back(descriptor);
      QUADRANT_CHECK(wait_for(descriptor, folder));
    }
    return {};
  }

  /// That names are on the disk, too. What cannot be asked for it is left to the system.
  void flush() const {
    for (const int descriptor : descriptors_) ::fsync(descriptor);
  }

 private:
  // Some file systems have no locks: two writers at a time are on their own there.
  static Expected<void> wait_for(int descriptor, const std::string& folder) {
    constexpr auto longest = std::chrono::seconds(60);
    const auto end = std::chrono::steady_clock::now() + longest;
    while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return {};
      if (std::chrono::steady_clock::now() > end) {
        return fail(ErrorCode::io,
                    "another program has locked this folder for a minute: nothing was written",
                    {.file = folder});
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  std::vector<int> descriptors_;
};

/// Files that are put in place one after the other, and taken back where one cannot be.
class Placing {
 public:
  Placing() = default;
  Placing(const Placing&) = delete;
  Placing& operator=(const Placing&) = delete;
  ~Placing() { std::ignore = take_back(); }

  /// All is as it was; says of what could not be so where its contents are, or nothing.
  [[nodiscard]] std::string take_back() {
    std::string lost;
    for (const Step& step : std::views::reverse(steps_)) {
      if (!step.kept.empty()) {
        // Where it cannot have its name again, it keeps this one. Both stay where they are names of
        // one file.
        if (std::rename(step.kept.c_str(), step.path.c_str()) == 0) {
          ::unlink(step.kept.c_str());
        } else {
          lost += fmt::format("; what was '{}' is '{}' now", step.path, step.kept);
        }
      } else if (step.is_new) {
        ::unlink(step.path.c_str());
      }
    }
    steps_.clear();
    return lost;
  }

  /// From here on there is no file at `path`.
  [[nodiscard]] Expected<void> move_away(const std::string& path) {
    return keep(path, [&](const char* free) { return rename_new(path, free); });
  }

  /// Nothing has to be kept for the last one: it is put there, or all is as it was.
  [[nodiscard]] Expected<void> put(NewFile& file, bool is_last) {
    if (is_last) return file.put();
    const std::string path = file.path();
    QUADRANT_CHECK(keep(path, [&](const char* free) {
      if (::link(path.c_str(), free) == 0) return 0;
      // Where there are no second names, there is no file for a moment.
      return errno == EEXIST ? -1 : rename_new(path, free);
    }));
    QUADRANT_CHECK(file.put());
    steps_.back().is_new = true;
    return {};
  }

  /// Nothing is taken back any more.
  void finish() {
    for (const Step& step : steps_) {
      if (!step.kept.empty()) ::unlink(step.kept.c_str());
    }
    steps_.clear();
  }

 private:
  struct Step {
    std::string path;
    std::string kept;  ///< another name of what was there; empty where nothing was
    bool is_new = false;
  };

  // `rename` would replace a file of that name.
  static int rename_new(const std::string& path, const char* free) {
#ifdef RENAME_NOREPLACE
    const int renamed = ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, free, RENAME_NOREPLACE);
    if (renamed == 0 || (errno != ENOSYS && errno != EINVAL)) return renamed;
#endif
    if (::access(free, F_OK) != 0) return std::rename(path.c_str(), free);
    errno = EEXIST;
    return -1;
  }

  template <class Take>
  [[nodiscard]] Expected<void> keep(const std::string& path, Take take) {
    Step step{path, {}, false};
    if (::access(path.c_str(), F_OK) == 0 && take_free_name(path, step.kept, take) != 0) {
      return cannot_write(path, {errno, std::generic_category()});
    }
    steps_.push_back(std::move(step));
    return {};
  }

  std::vector<Step> steps_;
};

}  // namespace

FileTransaction::~FileTransaction() {
  files_.clear();
  models_.clear();
  std::error_code ignored;
  for (const std::string& folder : std::views::reverse(folders_)) {
    fs::remove(folder, ignored);  // if nothing else is in it
  }
}

Expected<void> FileTransaction::read(const FileIdentity& identity, const std::string& path) {
  const std::lock_guard lock(mutex_);
  read_.insert(identity);
  const auto written = replaced_.find(identity);
  if (written == replaced_.end() || may_replace(identity, written->second)) return {};
  return is_read(path, written->second);
}

Expected<void> FileTransaction::read(const std::string& path) {
  const auto identity = identity_of(path);
  return identity ? read(*identity, path) : Expected<void>();
}

Expected<void> FileTransaction::announce(const std::string& path, const std::string& cause) {
  const std::lock_guard lock(mutex_);
  return announce_locked(path, cause);
}

Expected<void> FileTransaction::announce_locked(const std::string& path, const std::string& cause) {
  QUADRANT_CHECK(check_place(path));
  const auto identity = identity_of(path);
  if (identity && read_.contains(*identity) && !may_replace(*identity, cause)) {
    return is_read(path, cause);
  }
  QUADRANT_TRY(std::string name, canonical_name(path));
  const auto same_name = outputs_.try_emplace(std::move(name), cause);
  if (!same_name.second) return is_written_twice(path, same_name.first->second, cause);
  if (!identity) return {};
  const auto same_file = replaced_.try_emplace(*identity, cause);
  if (!same_file.second) return is_written_twice(path, same_file.first->second, cause);
  return {};
}

void FileTransaction::allow_over(const std::string& path, const std::string& cause) {
  const std::lock_guard lock(mutex_);
  if (const auto identity = identity_of(path)) allowed_.insert_or_assign(*identity, cause);
}

bool FileTransaction::may_replace(const FileIdentity& identity, const std::string& cause) const {
  const auto allowed = allowed_.find(identity);
  return allowed != allowed_.end() && allowed->second == cause;
}

Expected<void> FileTransaction::make_folder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> missing;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path()) {
    missing.push_back(folder.string());
  }
  const std::lock_guard lock(mutex_);
  folders_.insert(folders_.end(), missing.rbegin(), missing.rend());
  fs::create_directories(path, error);
  if (error) return cannot_write(path, error);
  return {};
}

Expected<NewFile> FileTransaction::create(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    QUADRANT_TRY(const std::string name, canonical_name(path));
    if (!outputs_.contains(name)) QUADRANT_CHECK(announce_locked(path, ""));
  }
  return NewFile::create(path);
}

Expected<void> FileTransaction::add(NewFile file) {
  std::unique_lock lock(mutex_);
  if (files_.size() >= most_open) {
    lock.unlock();
    QUADRANT_CHECK(file.settle());
    lock.lock();
  }
  files_.push_back(std::move(file));
  return {};
}

void FileTransaction::add_model(NewFile model, std::optional<NewFile> data, bool has_fixed_names) {
  const std::lock_guard lock(mutex_);
  models_.push_back({std::move(model), std::move(data), has_fixed_names});
}

void FileTransaction::remove_at_end(std::string path) {
  const std::lock_guard lock(mutex_);
  removed_.push_back(std::move(path));
}

Expected<void> FileTransaction::commit() {
  std::set<std::string> folders;
  std::set<std::string> names;
  const auto settle = [&](NewFile& file) -> Expected<void> {
    QUADRANT_TRY(std::string name, canonical_name(file.path()));
    if (!names.insert(std::move(name)).second) return is_written_twice(file.path(), "", "");
    QUADRANT_TRY(std::string folder, canonical_name(folder_of(file.path())));
    folders.insert(std::move(folder));
    return file.settle();
  };
  std::vector<NewFile*> files;
  files.reserve(files_.size());
  for (NewFile& file : files_) files.push_back(&file);
  // The same steps whichever thread was first.
  std::ranges::sort(files, {}, &NewFile::path);
  for (NewFile* file : files) QUADRANT_CHECK(settle(*file));
  for (Model& model : models_) {
    if (model.data) QUADRANT_CHECK(settle(*model.data));
    QUADRANT_CHECK(settle(model.file));
  }
  Locks locks;
  QUADRANT_CHECK(locks.lock(folders));
  Placing placing;
  const auto put_all = [&]() -> Expected<void> {
    for (NewFile* file : files) {
      QUADRANT_CHECK(placing.put(*file, models_.empty() && file == files.back()));
    }
    for (Model& model : models_) {
      if (model.data && model.has_fixed_names) QUADRANT_CHECK(placing.move_away(model.file.path()));
      if (model.data) QUADRANT_CHECK(placing.put(*model.data, false));
      QUADRANT_CHECK(placing.put(model.file, &model == &models_.back()));
    }
    return {};
  };
  auto status = put_all();
  if (!status) {
    status.error().message += placing.take_back();
    return status;
  }
  placing.finish();
  locks.flush();
  for (const std::string& path : removed_) ::unlink(path.c_str());
  removed_.clear();
  files_.clear();
  models_.clear();
  folders_.clear();
  return {};
}

}  // namespace quadrant::inline v0
