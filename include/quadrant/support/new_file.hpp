// A file that appears complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "quadrant/support/expected.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0 {

/// Written without a name, which `commit` gives it; under another name in the same folder where the
/// file system has no files without one. One that goes without having been committed leaves nothing
/// behind; without a name, however the program ends. A symbolic link stays one: what it points to
/// is replaced, or made. A file that is replaced leaves its permissions to the new one. Errors are
/// `io` and name the file. But for `write_at`, not thread safe. Several files that belong together:
/// FileTransaction.
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
  /// How other processes of this machine can `join` it as it is, and those of others, who see its
  /// folder, from when it has a name of its own.
  [[nodiscard]] Expected<std::string> name_here() const;
  [[nodiscard]] Expected<std::string> name_everywhere();
  /// The file that another process makes, to write to its places, too. It does not become a file by
  /// this one, which must `flush` before it is put in place. `io` where it cannot be opened.
  [[nodiscard]] static Expected<NewFile> join(const std::string& name);
  /// All that was written is on the disk.
  [[nodiscard]] Expected<void> flush() const;
  /// Another final name in the same folder: one made from the contents, say.
  void rename_to(std::string path) { path_ = std::move(path); }
  /// Where the file will be: the end of a chain of symbolic links.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Puts the file in place: `settle`, then `put`.
  [[nodiscard]] Expected<void> commit();
  /// Nothing more is written: it is on the disk, under a name of its own, and closed.
  [[nodiscard]] Expected<void> settle();
  /// Renames the file, which was settled.
  [[nodiscard]] Expected<void> put();

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
};

/// The end of a chain of symbolic links, be there a file or not: what writing to `path` makes.
[[nodiscard]] std::string resolved_path(const std::string& path);

/// A name in the folder of `path` that nothing has, as `take` sees it: it takes the name, and
/// returns -1, with errno EEXIST, where it cannot have it. What it returned at last; `name` becomes
/// the one that it took. Such names are short, and begin with a dot.
[[nodiscard]] int take_free_name(const std::string& path, std::string& name,
                                 FunctionRef<int(const char*)> take);

}  // namespace quadrant::inline v0
