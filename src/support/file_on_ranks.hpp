// A new file that several ranks write to.
#pragma once

#include <optional>

#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// A file that the first rank has made, open on all of them; or, where one does not see it, on the
/// first alone.
struct FileOnRanks {
  std::optional<NewFile> file;  ///< none where this rank cannot write
  bool is_on_all = true;
};

/// All ranks call it. `own`: of the first, what it has made; of the others nothing. On one machine
/// the file needs no name; else it has one from here on, in the folder that it goes to.
[[nodiscard]] Expected<FileOnRanks> open_on_ranks(Expected<std::optional<NewFile>> own,
                                                  Ranks& ranks);

}  // namespace quadrant::inline v0
