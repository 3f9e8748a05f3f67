// Several files that appear in a folder together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// Files are made in a hidden folder inside of `path`, and moved into `path` by `commit`. What goes
/// without having been committed leaves nothing behind, no folder either. Errors are `io` and name
/// the file.
class NewFiles {
 public:
  /// Makes the folder where there is none. `names` are those of the files: nothing but a regular
  /// file may be in the place of one.
  [[nodiscard]] static Expected<NewFiles> create(const std::string& path,
                                                 std::span<const std::string> names);

  NewFiles(NewFiles&& other) noexcept;
  NewFiles& operator=(NewFiles&&) = delete;
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles();

  /// Where to put a file until all are there. Several threads may ask.
  [[nodiscard]] std::string place_of(const std::string& name) const;
  /// Puts `names` in place; files that are there are replaced.
  [[nodiscard]] Expected<void> commit(std::span<const std::string> names);

 private:
  explicit NewFiles(std::string path) noexcept : path_(std::move(path)) {}

  std::string path_;
  std::vector<std::string> made_;  ///< folders that were not there, the innermost first
  std::string hidden_;             ///< empty before it is made, and once moved from
  bool committed_ = false;
};

}  // namespace quadrant::cli
