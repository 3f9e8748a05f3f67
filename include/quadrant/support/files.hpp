// Files: what is read a part at a time, and what appears complete or not at all.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// A part of a file, in the program's memory.

/// A range of a file as it lies in the system's memory; nothing was copied. It may outlive the
/// descriptor. While it is in use the file must not become shorter: the system stops a program that
/// touches what is gone. So it is for ranges that are asked for, used and let go soon.
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

// A file that appears complete or not at all.

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

// A file without a name: room for what does not fit into memory.

/// Bytes that are written once, one behind the other, and read any number of times. No other
/// process can open it; its room is free again when this object goes, however the program ends.
/// Errors are `io` and name the folder. Safe to use from several threads.
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
  /// FileWindow::of this file, which does not become shorter.
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

// The files of one job: none that it reads is written over, and what it writes appears together.

/// Which file it is, whatever it is called. An inode is given to another file once the one that had
/// it is gone; the time at which a file came to be, 0 where the system does not tell it, is not.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t birth_s = 0;  ///< since 1970
  std::uint32_t birth_ns = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

/// Readers tell it of each file that they open, writers hand it the files that they have made. A
/// file that is read and one that is written must not be the same, whichever comes first, and
/// neither must two that are written: `usage`. `commit` puts all files in place, models last; where
/// one cannot be, those that were there before are again, and no new one is. What goes without
/// having been committed leaves nothing behind. Thread safe but for `commit`.
class FileTransaction {
 public:
  FileTransaction() = default;
  FileTransaction(const FileTransaction&) = delete;
  FileTransaction& operator=(const FileTransaction&) = delete;
  ~FileTransaction();

  /// A file that is read, called `path` where it was opened.
  [[nodiscard]] Expected<void> read(const FileIdentity& identity, const std::string& path);
  /// The same for what is at `path`, if it is a regular file: before it is opened.
  [[nodiscard]] Expected<void> read(const std::string& path);

  /// A file that will be written, because of `cause`, an option, or "": said as soon as it is
  /// known. `io` where it cannot be put there.
  [[nodiscard]] Expected<void> announce(const std::string& path, const std::string& cause);
  /// The file at `path` may be read, and replaced because of `cause`.
  void allow_over(const std::string& path, const std::string& cause);
  /// Makes the folder, and those that it is in, where there is none. They go again where nothing is
  /// committed.
  [[nodiscard]] Expected<void> make_folder(const std::string& path);

  /// To be written, and then to be added.
  [[nodiscard]] Expected<NewFile> create(const std::string& path);
  /// A file that is complete. Of thousands, most have names already, and no descriptor.
  [[nodiscard]] Expected<void> add(NewFile file);
  /// A model and its data. Data that is found by a name made from its contents, in the model, goes
  /// first. Where `has_fixed_names`, an old model may take new data for its own: there is no model
  /// while the data changes.
  void add_model(NewFile model, std::optional<NewFile> data = std::nullopt,
                 bool has_fixed_names = false);
  /// A file that is of no more use once all are in place: it is removed then, if it is there.
  void remove_at_end(std::string path);
  /// Others that commit to the same folders wait.
  [[nodiscard]] Expected<void> commit();

 private:
  struct Model {
    NewFile file;
    std::optional<NewFile> data;
    bool has_fixed_names;
  };
  [[nodiscard]] bool may_replace(const FileIdentity& identity, const std::string& cause) const;
  [[nodiscard]] Expected<void> announce_locked(const std::string& path, const std::string& cause);

  std::mutex mutex_;
  std::set<FileIdentity> read_;
  std::map<FileIdentity, std::string> allowed_;  ///< because of what
  // Causes of what is written:
  std::map<std::string, std::string> outputs_;    ///< by what it will be called, without links
  std::map<FileIdentity, std::string> replaced_;  ///< by what was there when it was announced
  std::vector<NewFile> files_;
  std::vector<Model> models_;
  std::vector<std::string> removed_;  ///< at the end
  std::vector<std::string> folders_;  ///< that were made, the innermost last
};

/// What a writer adds its files to: those that it was given, or its own, which `finish` commits.
class FilesOrOwn {
 public:
  explicit FilesOrOwn(FileTransaction* given) : given_(given) {}

  [[nodiscard]] FileTransaction* operator->() { return given_ != nullptr ? given_ : &own_; }
  [[nodiscard]] Expected<void> finish() {
    return given_ != nullptr ? Expected<void>() : own_.commit();
  }

 private:
  FileTransaction* given_;
  FileTransaction own_;
};

}  // namespace quadrant::inline v0
