// "Did you mean": the names nearest to one that is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrant::inline v0 {

/// What is looked for.
enum class Match : std::uint8_t {
  whole,  ///< a name
  part,   ///< a piece of one
};

/// Insertions, deletions, replacements and swaps of neighbours that lead from `wanted` to `name`,
/// or to the nearest piece of it, upper and lower case being equal; `limit + 1` when it takes more
/// than `limit`.
[[nodiscard]] std::size_t edit_distance(std::string_view wanted, std::string_view name,
                                        std::size_t limit, Match match = Match::whole);

/// The up to three of `names` that are a few edits away from `wanted`. Nearest first, then in
/// alphabetical order.
[[nodiscard]] std::vector<std::string> near_names(std::string_view wanted,
                                                  std::span<const std::string_view> names,
                                                  Match match = Match::whole);

/// `; did you mean 'a' or 'b'?`, or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view wanted,
                                       std::span<const std::string_view> names,
                                       Match match = Match::whole);

/// The same, or `; there are: a, b` where none is near: for a few names.
[[nodiscard]] std::string did_you_mean_or_all(std::string_view wanted,
                                              std::span<const std::string_view> names);

}  // namespace quadrant::inline v0
