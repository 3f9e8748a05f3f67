#include "report/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace quadrant::inline v0 {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Unicode 15: EastAsianWidth W and F, in blocks; unassigned gaps between them count as wide.
constexpr std::array wide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x23E9, 0x23EC},
    Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},
    Range{0x4E00, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
    Range{0xFFE0, 0xFFE6},   Range{0x16FE0, 0x18CFF}, Range{0x1B000, 0x1B2FF},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1FAFF},
    Range{0x20000, 0x3FFFD},
};
// The combining marks of the scripts most met, zero-width characters and variation selectors.
constexpr std::array zero_width{
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489},   Range{0x0591, 0x05BD}, Range{0x0610, 0x061A},
    Range{0x064B, 0x065F}, Range{0x0E34, 0x0E3A},   Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF},
    Range{0x200B, 0x200D}, Range{0x20D0, 0x20FF},   Range{0x302A, 0x302D}, Range{0xFE00, 0xFE0F},
    Range{0xFE20, 0xFE2F}, Range{0xE0100, 0xE01EF},
};
// Controls (C0, DEL, C1), line and paragraph separators, bidirectional marks and overrides.
constexpr std::array unprintable{
    Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0x061C, 0x061C}, Range{0x200E, 0x200F},
    Range{0x2028, 0x202E}, Range{0x2060, 0x206F}, Range{0xFEFF, 0xFEFF},
};

bool contains(const auto& ranges, char32_t character) {
  return std::ranges::any_of(ranges, [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

struct Character {
  char32_t code = 0;
  std::size_t size = 1;  // bytes
  bool is_valid = false;
};

// The first character of `text`, which is not empty.
Character decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  std::size_t size = 2;
  if (lead >= 0xE0) size = 3;
  if (lead >= 0xF0) size = 4;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  char32_t code = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest[size] || is_surrogate || code > 0x10FFFF) return {};
  return {code, size, true};
}

}  // namespace

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = decode(text);
    if (!contains(zero_width, character.code)) width += contains(wide, character.code) ? 2U : 1U;
    text.remove_prefix(character.size);
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode(text);
    const std::string_view bytes = text.substr(0, character.size);
    text.remove_prefix(character.size);
    if (!character.is_valid) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}",
                     static_cast<unsigned char>(bytes.front()));
    } else if (!contains(unprintable, character.code)) {
      result += bytes;
    } else if (character.code == '\n') {
      result += "\\n";
    } else if (character.code == '\t') {
      result += "\\t";
    } else if (character.code < 0x80) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}",
                     static_cast<std::uint32_t>(character.code));
    } else {
      fmt::format_to(std::back_inserter(result), "\\u{:04x}",
                     static_cast<std::uint32_t>(character.code));
    }
  }
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += printable(text.substr(0, end));
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array units{"kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  auto amount = static_cast<double>(bytes) / 1000;
  while (amount >= 999.5) {  // what would be printed as 1000
    amount /= 1000;
    ++unit;
  }
  int digits = 0;
  if (amount < 99.95) digits = 1;
  if (amount < 9.995) digits = 2;
  return fmt::format("{:.{}f} {}", amount, digits, units[unit]);
}

std::string format_share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part != 0 && percent < 0.1) return "< 0.1 %";
  if (part < whole && percent > 99.9) return "> 99.9 %";
  return fmt::format("{:.1f} %", percent);
}

}  // namespace quadrant::inline v0
