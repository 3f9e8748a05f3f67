// The files of one job: none that it reads is written over, and what it writes appears together.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quadrant/support/expected.hpp"
#include "quadrant/support/new_file.hpp"

namespace quadrant::inline v0 {

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
