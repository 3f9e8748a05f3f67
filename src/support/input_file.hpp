// A file that is read, from any place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

class FileTransaction;

/// A regular file of known size: no folder, and no pipe, which might never end. It stays reachable
/// when another file takes over its path. Errors are `io` and name the file.
class InputFile {
 public:
  /// `files` hears of it; `usage` where one of them will be written over this file.
  [[nodiscard]] static Expected<InputFile> open(std::string path, FileTransaction* files = nullptr);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// POSIX's handle, which this object keeps: for `mmap` and the like.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  /// Fills `out` with the bytes from `offset` on; there must be that many. Moves no position, so
  /// threads may share the file.
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const;

  /// All of it; `io` for more than `largest` bytes. `what` such files hold, for the message.
  [[nodiscard]] Expected<std::string> text(std::uint64_t largest, std::string_view what) const;

  /// FileWindow::of this file. Where there is none, `read` reads, or says why not.
  [[nodiscard]] std::optional<FileWindow> window(std::uint64_t offset,
                                                 std::size_t size) const noexcept {
    return FileWindow::of(descriptor_, offset, size);
  }

 private:
  InputFile(std::string path, int descriptor) noexcept
      : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// The most bytes that a text file may have.
inline constexpr std::uint64_t largest_text = std::uint64_t{1} << 30U;
/// The whole of a text file.
[[nodiscard]] Expected<std::string> read_text(const std::string& path);

}  // namespace quadrant::inline v0
