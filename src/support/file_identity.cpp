#include "support/file_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quadrant::inline v0 {
namespace {

/// A file that goes leaves its number to the next one: only the time at which it came to be tells
/// them apart. Nothing, where the system does not tell it.
template <class... Place>
FileIdentity with_birth(FileIdentity identity, [[maybe_unused]] Place... place) {
#ifdef STATX_BTIME
  struct statx status{};
  if (::statx(place..., STATX_BTIME, &status) == 0 && (status.stx_mask & STATX_BTIME) != 0) {
    identity.birth_s = status.stx_btime.tv_sec;
    identity.birth_ns = status.stx_btime.tv_nsec;
  }
#endif
  return identity;
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return with_birth({.device = status.st_dev, .inode = status.st_ino}, AT_FDCWD, path.c_str(), 0);
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return with_birth({.device = status.st_dev, .inode = status.st_ino}, descriptor, "",
                    AT_EMPTY_PATH);
}

}  // namespace quadrant::inline v0
