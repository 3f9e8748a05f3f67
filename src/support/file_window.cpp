#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

std::optional<FileWindow> FileWindow::of([[maybe_unused]] int descriptor,
                                         [[maybe_unused]] std::uint64_t offset,
                                         [[maybe_unused]] std::size_t size) noexcept {
#ifdef MADV_POPULATE_READ
  // Pages behind the end would stop the program; those that cannot be read are refused below.
  struct stat status{};
  if (size == 0 || ::fstat(descriptor, &status) != 0) return std::nullopt;
  const auto end = static_cast<std::uint64_t>(status.st_size);
  if (offset > end || size > end - offset) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  const auto skip = static_cast<std::size_t>(offset - begin);
  void* const pages =
      ::mmap(nullptr, skip + size, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(begin));
  if (pages == MAP_FAILED) return std::nullopt;
  const std::span all(static_cast<std::byte*>(pages), skip + size);
  FileWindow window(all, all.subspan(skip));
  if (::madvise(pages, all.size(), MADV_POPULATE_READ) != 0) return std::nullopt;
  return window;
#else
  return std::nullopt;
#endif
}

FileWindow::FileWindow(FileWindow&& other) noexcept
    : pages_(std::exchange(other.pages_, {})), bytes_(std::exchange(other.bytes_, {})) {}

FileWindow::~FileWindow() {
  if (!pages_.empty()) ::munmap(pages_.data(), pages_.size());
}

}  // namespace quadrant::inline v0
