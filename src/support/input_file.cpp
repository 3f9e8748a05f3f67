#include "support/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/file_identity.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> refused(const std::string& path, std::string_view what) {
  const std::string reason = std::generic_category().message(errno);
  return fail(ErrorCode::io, fmt::format("cannot {} the file: {}", what, reason), {.file = path});
}

}  // namespace

Expected<InputFile> InputFile::open(std::string path, FileTransaction* files) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX's own
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refused(path, "open");
  InputFile file(std::move(path), descriptor);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return refused(file.path_, "examine");
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, "not a regular file", {.file = file.path_});
  }
  if (files != nullptr) {
    const auto identity = identity_of(descriptor);
    if (!identity) return refused(file.path_, "examine");
    QUADRANT_CHECK(files->read(*identity, file.path_));
  }
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<void> InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(path_, "read");
    if (got == 0) {
      return fail(ErrorCode::io, "the file became shorter after it was opened",
                  {.file = path_, .offset = offset});
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Expected<std::string> InputFile::text(std::uint64_t largest, std::string_view what) const {
  if (size_ > largest) {
    return fail(ErrorCode::io,
                fmt::format("{} bytes: {} of more than {} are not read", size_, what, largest),
                {.file = path_});
  }
  std::string all(static_cast<std::size_t>(size_), '\0');
  QUADRANT_CHECK(read(0, std::as_writable_bytes(std::span(all))));
  return all;
}

Expected<std::string> read_text(const std::string& path) {
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  return file.text(largest_text, "texts");
}

}  // namespace quadrant::inline v0
