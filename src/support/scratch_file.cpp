#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> no_scratch(const std::string& directory, int reason) {
  return fail(ErrorCode::io,
              fmt::format("cannot keep data in a temporary file: {}; more of it stays in memory "
                          "with a larger limit",
                          std::generic_category().message(reason)),
              {.file = directory});
}

}  // namespace

Expected<std::shared_ptr<ScratchFile>> ScratchFile::create(const std::string& directory) {
  std::string path = (std::filesystem::path(directory) / ".quadrant-XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) return no_scratch(directory, errno);
  ::unlink(path.c_str());
  return std::shared_ptr<ScratchFile>(new ScratchFile(directory, descriptor));
}

ScratchFile::~ScratchFile() { ::close(descriptor_); }

Expected<std::uint64_t> ScratchFile::append(std::span<const std::byte> bytes) {
  std::uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    offset = size_;
    size_ += bytes.size();
  }
  std::uint64_t place = offset;
  while (!bytes.empty()) {
    const ssize_t done =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return no_scratch(directory_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    place += static_cast<std::uint64_t>(done);
  }
  return offset;
}

Expected<void> ScratchFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t done = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return no_scratch(directory_, done < 0 ? errno : EIO);
    out = out.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

}  // namespace quadrant::inline v0
