// Constants that were computed and wait to be written, in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/scratch_file.hpp"

namespace quadrant::inline v0 {

/// Keeps so many bytes of constants in memory, and the others in a file. Safe to use from several
/// threads. The constants outlive it.
class ConstantStore {
 public:
  /// `memory`: bytes; `directory`: where the file is made, once one is needed.
  ConstantStore(std::uint64_t memory, std::string directory)
      : left_(memory), directory_(std::move(directory)) {}

  /// The same contents: `constant` itself where there is room, or if it is deferred or empty, else
  /// one that reads the file whenever it is read. `io` when that cannot be written.
  [[nodiscard]] Expected<Constant> put(Constant constant);

 private:
  // The file, where there is no room for so many bytes; else null, and the room is taken.
  [[nodiscard]] Expected<std::shared_ptr<ScratchFile>> file_for(std::uint64_t bytes);

  std::mutex mutex_;
  std::uint64_t left_;                 // guarded by mutex_
  std::shared_ptr<ScratchFile> file_;  // guarded by mutex_
  std::string directory_;
};

}  // namespace quadrant::inline v0
