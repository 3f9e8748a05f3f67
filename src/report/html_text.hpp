// Text that goes into a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

/// `text` as content of an element or as a quoted attribute: what could be markup becomes entities;
/// control characters, characters that turn the writing direction, and bytes that are not UTF-8
/// become escapes as in `printable`. Of more than `longest` bytes, the rest is left out, and how
/// much that is is said. Not for scripts and styles: no name ever goes into those.
///
///   "<b>\n"  ->  "&lt;b&gt;\\n"
[[nodiscard]] std::string html_text(std::string_view text, std::size_t longest = 500);

/// The same for names, with places where a line may break behind `/`, `.`, `_`, `:` and `-`. Not
/// for attributes.
[[nodiscard]] std::string html_name(std::string_view name, std::size_t longest = 500);

/// Digits in groups: `-1,234,567`.
[[nodiscard]] std::string grouped(std::int64_t number);
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace quadrant::inline v0
