// Text for terminals: names that come from files, and amounts that people read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

/// Columns that `text` (UTF-8) takes on a terminal: two for East Asian wide characters and emoji,
/// none for combining marks, one for all else, stray bytes included.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;

/// `text` on one line and without a hold on the terminal: control characters, characters that turn
/// the writing direction, and bytes that are not UTF-8 become escapes. Names in a model come from
/// whoever made the file.
///
///   "a\nb\x1b[2J"  ->  R"(a\nb\x1b[2J)"
[[nodiscard]] std::string printable(std::string_view text);

/// The same for text of several lines: line ends stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// Three digits and a decimal unit: `999 B`, `1.23 kB`, `45.6 MB`.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// `part` of `whole` as `99.1 %`. A part is never rounded to all or to nothing: `> 99.9 %`,
/// `< 0.1 %`. `-` when `whole` is 0.
[[nodiscard]] std::string format_share(std::uint64_t part, std::uint64_t whole);

}  // namespace quadrant::inline v0
