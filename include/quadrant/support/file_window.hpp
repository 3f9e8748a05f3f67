// A part of a file, in the program's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quadrant::inline v0 {

/// A range of a file as it lies in the system's memory; nothing was copied. It may outlive the
/// descriptor.
/// While it is in use nobody may make the file shorter: the system stops a program that touches
/// what is gone. So it is for ranges that are asked for, used and let go soon.
class FileWindow {
 public:
  /// The `size` bytes from `offset` on of an open file, all read from the disk by now. Empty where
  /// `size` is 0, the file is shorter, or the system does not do that for it, or cannot read it.
  [[nodiscard]] static std::optional<FileWindow> of(int descriptor, std::uint64_t offset,
                                                    std::size_t size) noexcept;

  FileWindow(FileWindow&& other) noexcept;
  FileWindow& operator=(FileWindow&&) = delete;
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;
  ~FileWindow();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  FileWindow(std::span<std::byte> pages, std::span<const std::byte> bytes) noexcept
      : pages_(pages), bytes_(bytes) {}

  std::span<std::byte> pages_;
  std::span<const std::byte> bytes_;
};

}  // namespace quadrant::inline v0
