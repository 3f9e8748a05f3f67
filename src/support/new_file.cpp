#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> refused(const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  return fail(ErrorCode::io, fmt::format("cannot write the file: {}", reason), {.file = path});
}

// Linux gives a file as much memory in one piece as is written at once. Large pieces are what a
// virtual machine hands back to its host, and getting one anew can take ten times as long as
// writing to it; small ones are mostly at hand.
constexpr std::size_t most_at_once = std::size_t{256} << 10;

constexpr mode_t mode = 0666;  // less the umask, like any other file

/// An open file, as the system's own link to it.
std::string link_to(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// A file in `folder` without a name, which `link_to` can give one; -1 where there are none.
int open_nameless([[maybe_unused]] const std::string& folder) {
#ifdef O_TMPFILE
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX's own
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (descriptor < 0 || ::access(link_to(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);
#endif
  return -1;
}

}  // namespace

std::string resolved_path(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int longest_chain = 40;  // Linux's own limit
  std::error_code error;
  fs::path place = path;
  for (int i = 0; i < longest_chain && fs::is_symlink(place, error); ++i) {
    const fs::path target = fs::read_symlink(place, error);
    if (error) break;
    place = target.is_absolute() ? target : place.parent_path() / target;
  }
  return place.string();
}

int take_free_name(const std::string& path, std::string& name, FunctionRef<int(const char*)> take) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (unsigned attempt = 0;; ++attempt) {
    name = (folder / fmt::format(".quadrant-{}-{}.tmp", ::getpid(), attempt)).string();
    const int result = take(name.c_str());
    if (result >= 0 || errno != EEXIST) return result;
  }
}

Expected<NewFile> NewFile::create(const std::string& path) {
  std::string target = resolved_path(path);
  struct stat status{};
  const bool replaces = ::stat(target.c_str(), &status) == 0;
  if (replaces && !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io,
                "cannot write the file: there is something that is not a regular file",
                {.file = path});
  }
  const auto with_permissions = [&](int descriptor) {
    // A file system that has none does without.
    if (replaces) std::ignore = ::fchmod(descriptor, status.st_mode & 07777U);
    return descriptor;
  };
  const auto folder = std::filesystem::path(target).parent_path();
  const int nameless = open_nameless(folder.empty() ? "." : folder.string());
  if (nameless >= 0) return NewFile(std::move(target), {}, with_permissions(nameless));
  std::string temporary;
  const int descriptor = take_free_name(target, temporary, [](const char* name) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX's own
    return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  });
  if (descriptor < 0) return refused(path);
  return NewFile(std::move(target), std::move(temporary), with_permissions(descriptor));
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      end_(other.end_),
      committed_(other.committed_) {}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

Expected<void> NewFile::write(std::span<const std::byte> bytes) {
  QUADRANT_CHECK(write_at(end_, bytes));
  end_ += bytes.size();
  return {};
}

Expected<void> NewFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), most_at_once));
    const ssize_t done =
        ::pwrite(descriptor_, part.data(), part.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return refused(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

Expected<void> NewFile::take_name() {
  if (!temporary_.empty()) return {};
  std::string name;
  const int taken = take_free_name(path_, name, [this](const char* free) {
    return ::linkat(AT_FDCWD, link_to(descriptor_).c_str(), AT_FDCWD, free, AT_SYMLINK_FOLLOW);
  });
  if (taken != 0) return refused(path_);
  temporary_ = std::move(name);
  return {};
}

// The file's number tells it from another one that has the same name elsewhere.
Expected<std::string> NewFile::name_here() const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) return refused(path_);
  return fmt::format("{}:{} /proc/{}/fd/{}", status.st_ino, status.st_dev, ::getpid(), descriptor_);
}

Expected<std::string> NewFile::name_everywhere() {
  QUADRANT_CHECK(take_name());
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) return refused(path_);
  return fmt::format("{} {}", status.st_ino, temporary_);
}

Expected<NewFile> NewFile::join(const std::string& name) {
  const std::size_t space = name.find(' ');
  const std::string path = space == std::string::npos ? name : name.substr(space + 1);
  // What is a pipe on this machine must not be waited for.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX's own
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refused(path);
  NewFile joined(path, {}, descriptor);
  struct stat status{};
  const bool is_same = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                       (name.starts_with(fmt::format("{} ", status.st_ino)) ||
                        name.starts_with(fmt::format("{}:{} ", status.st_ino, status.st_dev)));
  if (!is_same) return fail(ErrorCode::io, "this is another file", {.file = path});
  return joined;
}

Expected<void> NewFile::flush() const {
  // Some file systems cannot say when the contents are there.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) return refused(path_);
  return {};
}

Expected<void> NewFile::commit() {
  QUADRANT_CHECK(settle());
  return put();
}

Expected<void> NewFile::settle() {
  if (descriptor_ < 0) return {};
  QUADRANT_CHECK(flush());  // a name must not come to be before the contents that it stands for
  QUADRANT_CHECK(take_name());
  // A full disk may only show here.
  if (::close(std::exchange(descriptor_, -1)) != 0) return refused(path_);
  return {};
}

Expected<void> NewFile::put() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return refused(path_);
  committed_ = true;
  return {};
}

}  // namespace quadrant::inline v0
