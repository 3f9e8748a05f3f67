// What ranks have found, item by item, told to all of them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/byte_stream.hpp"

namespace quadrant::inline v0 {

/// Calls `read`, which takes at least a byte, until there are no more. Its error ends that, and so
/// does `in` that has failed: `io`.
[[nodiscard]] Expected<void> read_items(std::string_view bytes,
                                        FunctionRef<Expected<void>(ByteReader& in)> read);

/// Items 0 to `count` - 1, of which each rank finds some, and together they find each once.
class SharedItems {
 public:
  explicit SharedItems(std::size_t count) : is_read_(count) {}

  /// One that this rank has found.
  void add(std::size_t item, ByteWriter found);
  /// Bytes of what was added and is not shared yet.
  [[nodiscard]] std::size_t size() const noexcept { return found_.size(); }
  /// All ranks call it; `own`: whether this one has found all of its items. `read` gets each item
  /// of all, its own, too. `io` where one is missing, comes twice, or is not what `read` reads.
  [[nodiscard]] Expected<void> share(
      Ranks& ranks, Expected<void> own,
      FunctionRef<Expected<void>(std::size_t item, ByteReader& in)> read);
  /// The same of what was added since the last time, where all of it would be too much at a time:
  /// `own` has whether this rank has more to add. Returns whether some rank has: then all call it
  /// again.
  [[nodiscard]] Expected<bool> share_some(
      Ranks& ranks, Expected<bool> own,
      FunctionRef<Expected<void>(std::size_t item, ByteReader& in)> read);

 private:
  std::vector<bool> is_read_;
  ByteWriter found_;
};

}  // namespace quadrant::inline v0
