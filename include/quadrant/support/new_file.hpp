// A file that appears complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Written without a name, which `commit` gives it; under another name in the same folder where the
/// file system has no files without one. One that goes without having been committed leaves nothing
/// behind; without a name, however the program ends. A symbolic link stays one: what it points to
/// is replaced. Errors are `io` and name the file. But for `write_at`, not thread safe.
class NewFile {
 public:
  [[nodiscard]] static Expected<NewFile> create(const std::string& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  /// At the end of what `write` has written.
  [[nodiscard]] Expected<void> write(std::span<const std::byte> bytes);
  /// `offset` bytes into the file, which becomes longer where it must. Several threads may do so at
  /// the same time, in different places.
  [[nodiscard]] Expected<void> write_at(std::uint64_t offset,
                                        std::span<const std::byte> bytes) const;
  /// Another final name in the same folder: one made from the contents, say.
  void rename_to(std::string path) { path_ = std::move(path); }
  /// Puts the file in place.
  [[nodiscard]] Expected<void> commit();
  /// Undoes `commit`, unless there was a file before.
  void withdraw() noexcept;

 private:
  /// Under a name that nothing has, if it has none.
  [[nodiscard]] Expected<void> take_name();

  NewFile(std::string path, std::string temporary, int descriptor) noexcept
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

  std::string path_;
  std::string temporary_;  ///< its name; empty where it has none, and once moved from
  int descriptor_ = -1;
  std::uint64_t end_ = 0;  ///< of what `write` has written
  bool committed_ = false;
  bool replaced_ = false;
};

}  // namespace quadrant::inline v0
