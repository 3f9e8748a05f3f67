#include "io/onnx/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "io/onnx/failure.hpp"

namespace quadrant::inline v0::onnx {
namespace {

[[noreturn]] void refused(const std::string& path, std::string_view what) {
  const std::string reason = std::generic_category().message(errno);
  io_failure(fmt::format("cannot {} the file: {}", what, reason), {.file = path});
}

/// Where a file of this name really is: a symbolic link stays one, and what it points to is
/// replaced.
std::string resolved(std::string path) {
  std::error_code ignored;
  if (!std::filesystem::is_symlink(path, ignored)) return path;
  const auto target = std::filesystem::weakly_canonical(path, ignored);
  return ignored ? path : target.string();
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(resolved(std::move(path))) {
  struct stat status{};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    io_failure("cannot write the file: there is something that is not a regular file",
               {.file = path_});
  }
  for (unsigned attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.{}.{}.tmp", path_, ::getpid(), attempt);
    constexpr mode_t mode = 0666;  // less the umask, like any other file
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ < 0 && errno != EEXIST) refused(path_, "write");
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refused(path_, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void OutputFile::commit() {
  // A full disk may only show here.
  if (::close(std::exchange(descriptor_, -1)) != 0) refused(path_, "write");
  replaced_ = ::access(path_.c_str(), F_OK) == 0;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) refused(path_, "write");
  committed_ = true;
}

void OutputFile::withdraw() noexcept {
  if (committed_ && !replaced_) ::unlink(path_.c_str());
}

void ContentHash::add(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = value_;
  for (const std::byte byte : bytes) {
    value = (value ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  value_ = value;
}

}  // namespace quadrant::inline v0::onnx
