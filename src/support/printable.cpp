#include "support/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrant::inline v0::failures {
namespace {

/// How many bytes the UTF-8 character at the front has; 0 when it is none, or a control character.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x20 || first == 0x7f) return 0;
  if (first < 0x80) return 1;
  std::size_t size = 2;
  if (first >= 0xe0) size = 3;
  if (first >= 0xf0) size = 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond the last character; and the second set of control
  // characters.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ||
                     (first == 0xc2 && second < 0xa0);
  return wrong ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 1000;
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= longest) return shown + "...";
    const std::size_t size = character_size(text);
    if (size == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return shown;
}

void make_printable(Error& error) {
  error.message = printable(error.message);
  error.place.file = printable(error.place.file);
  error.place.node = printable(error.place.node);
  error.place.tensor = printable(error.place.tensor);
}

}  // namespace quadrant::inline v0::failures
