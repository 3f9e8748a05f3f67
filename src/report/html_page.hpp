// What is around the sections of every page: head, style, script, navigation.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

/// A part of a page. `id`, `title` and `note` are literals of ours; `content` is HTML.
struct HtmlSection {
  std::string_view id;
  std::string_view title;
  std::string note;  ///< how many, say; plain text
  std::string content;
};

/// A page that needs nothing beside it. Its content policy lets a browser fetch nothing, and run
/// and apply nothing but our own script and style, whatever names a model brings. `title` is plain
/// text, `intro` HTML.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view intro,
                                    std::span<const HtmlSection> sections);

}  // namespace quadrant::inline v0
