// A file without a name: room for what does not fit into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "quadrant/support/expected.hpp"
#include "quadrant/support/file_window.hpp"

namespace quadrant::inline v0 {

/// Bytes that are written once, one behind the other, and read any number of times. Nobody else can
/// open it; its room is free again when this object goes, however the program ends. Errors are `io`
/// and name the folder. Safe to use from several threads.
class ScratchFile {
 public:
  /// In `directory`, which must exist.
  [[nodiscard]] static Expected<std::shared_ptr<ScratchFile>> create(const std::string& directory);

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();

  /// Where they begin.
  [[nodiscard]] Expected<std::uint64_t> append(std::span<const std::byte> bytes);
  /// Fills `out` with the bytes from `offset` on, which were appended before.
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const;
  /// FileWindow::of this file: nobody makes it shorter.
  [[nodiscard]] std::optional<FileWindow> window(std::uint64_t offset,
                                                 std::size_t size) const noexcept {
    return FileWindow::of(descriptor_, offset, size);
  }

 private:
  ScratchFile(std::string directory, int descriptor) noexcept
      : directory_(std::move(directory)), descriptor_(descriptor) {}

  std::string directory_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::uint64_t size_ = 0;  // guarded by mutex_
};

}  // namespace quadrant::inline v0
