#include "report/html_text.hpp"

#include <fmt/format.h>

#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {
namespace {

// Not in the middle of a character.
std::size_t clip_at(std::string_view text, std::size_t longest) {
  constexpr std::size_t longest_character = 4;
  std::size_t end = longest;
  const auto is_continued = [text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80;
  };
  while (end > 0 && longest - end < longest_character && is_continued(end)) --end;
  return end;
}

std::string group_digits(std::string digits) {
  constexpr std::size_t group = 3;
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + group;) {
    at -= group;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace

std::string html_text(std::string_view text, std::size_t longest) {
  std::string left_out;
  if (text.size() > longest) {
    const std::size_t end = clip_at(text, longest);
    left_out = fmt::format("\u2026 (and {} bytes)", text.size() - end);
    text = text.substr(0, end);
  }
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result + left_out;
}

std::string html_name(std::string_view name, std::size_t longest) {
  constexpr std::string_view breaks = "/._:-";
  std::string result;
  for (const char c : html_text(name, longest)) {
    result += c;
    if (breaks.find(c) != std::string_view::npos) result += "<wbr>";
  }
  return result;
}

std::string grouped(std::int64_t number) { return group_digits(fmt::to_string(number)); }
std::string grouped(std::uint64_t number) { return group_digits(fmt::to_string(number)); }

}  // namespace quadrant::inline v0
