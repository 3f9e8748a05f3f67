#include "ir/text_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quadrant::inline v0::detail {
namespace {

// The value of a hexadecimal digit, -1 for anything else.
int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_hex(char c) noexcept { return hex_value(c) >= 0; }

}  // namespace

bool Number::is_integer() const noexcept {
  return is_made_of(text.starts_with('-') ? text.substr(1) : text, is_digit);
}

template <class Predicate>
std::string_view Scanner::take_while(Predicate predicate) {
  const std::size_t start = offset_;
  while (offset_ < text_.size() && predicate(text_[offset_])) ++offset_;
  return text_.substr(start, offset_ - start);
}

std::size_t Scanner::position() const {
  std::size_t at = offset_;
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '#') {
      at = std::min(text_.find('\n', at), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

bool Scanner::next_is(char c) const {
  const std::size_t at = position();
  return at < text_.size() && text_[at] == c;
}

bool Scanner::next_is_digit() const {
  const std::size_t at = position();
  return at < text_.size() && is_digit(text_[at]);
}

bool Scanner::accept(std::string_view token) {
  const std::size_t at = position();
  if (!text_.substr(at).starts_with(token)) return false;
  offset_ = at + token.size();
  return true;
}

bool Scanner::accept_word(std::string_view word, char next) {
  const std::size_t before = offset_;
  if (accept(word) && next_is(next)) return true;
  offset_ = before;
  return false;
}

Expected<void> Scanner::expect(std::string_view token) {
  if (accept(token)) return {};
  return error(position(), fmt::format("expected '{}'", token));
}

Expected<void> Scanner::end_of_line() {
  const std::string_view skipped = text_.substr(offset_, position() - offset_);
  if (at_end() || skipped.find('\n') != std::string_view::npos) return {};
  return error(position(), "expected the end of the line");
}

std::string_view Scanner::word() {
  offset_ = position();
  return take_while(is_key_char);
}

Expected<std::int64_t> Scanner::digits() {
  offset_ = position();
  const std::size_t at = offset_;
  const std::string_view text = take_while(is_digit);
  std::int64_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty()) return error(at, "expected a number");
  if (status != std::errc()) return error(at, "this number does not fit into 63 bits");
  return value;
}

Expected<Number> Scanner::number() {
  offset_ = position();
  Number number{.at = offset_};
  const std::size_t start = offset_;
  if (peek() == '-') ++offset_;
  if (is_letter(peek())) {
    const std::string_view word = take_while(is_letter);
    number.text = text_.substr(start, offset_ - start);
    if (word != "inf" && number.text != "nan") return error(start, "expected a number");
  } else {
    take_while([](char c) {
      return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
    });
    number.text = text_.substr(start, offset_ - start);
    if (number.text.empty()) return error(start, "expected a number");
  }
  if (number.text == "nan" && peek() == '(') {
    QUADRANT_CHECK(expect("(0x"));
    const std::string_view digits = take_while(is_hex);
    if (digits.empty() || digits.size() > 16) return error(start, "expected the bits of a NaN");
    for (const char c : digits) {
      number.nan_bits = number.nan_bits << 4U | static_cast<std::uint64_t>(hex_value(c));
    }
    number.nan_digits = static_cast<int>(digits.size());
    QUADRANT_CHECK(expect(")"));
  }
  return number;
}

Expected<std::string> Scanner::string() {
  const std::size_t start = position();
  QUADRANT_CHECK(expect("\""));
  std::string value;
  while (true) {
    value += take_while([](char c) { return c != '"' && c != '\\' && c != '\n'; });
    if (offset_ == text_.size() || peek() == '\n') {
      return error(start, "this string does not end on its line");
    }
    if (text_[offset_++] == '"') return value;
    const char escape = peek();
    const bool has_digits =
        offset_ + 2 < text_.size() && is_hex(text_[offset_ + 1]) && is_hex(text_[offset_ + 2]);
    if (escape == 'n') {
      value += '\n';
    } else if (escape == 't') {
      value += '\t';
    } else if (escape == '"' || escape == '\\') {
      value += escape;
    } else if (escape == 'x' && has_digits) {
      value +=
          static_cast<char>(hex_value(text_[offset_ + 1]) * 16 + hex_value(text_[offset_ + 2]));
      offset_ += 2;
    } else {
      return error(offset_ - 1, R"(expected one of \" \\ \n \t \x00)");
    }
    ++offset_;
  }
}

Expected<std::string> Scanner::value_name() {
  const std::size_t start = position();
  QUADRANT_CHECK(expect("%"));
  std::string name;
  if (peek() == '"') {
    QUADRANT_TRY(name, string());
  } else {
    name = take_while(is_name_char);
  }
  if (name.empty()) return error(start, "expected the name of a value");
  return name;
}

Expected<std::string> Scanner::word_or_string(bool (*is_char)(char) noexcept,
                                              std::string_view what) {
  offset_ = position();
  if (peek() == '"') return string();
  if (!is_word_start(peek())) return error(offset_, fmt::format("expected {}", what));
  return std::string(take_while(is_char));
}

Expected<std::vector<std::byte>> Scanner::hex_bytes() {
  const std::size_t start = offset_;
  const std::string_view digits = take_while(is_hex);
  if (digits.size() % 2 != 0) return error(start, "a byte has two hexadecimal digits");
  std::vector<std::byte> bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(hex_value(digits[2 * i]) * 16 + hex_value(digits[2 * i + 1]));
  }
  return bytes;
}

tl::unexpected<Error> Scanner::error(std::size_t at, std::string_view message) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_end = before.rfind('\n');
  const std::string_view in_line =
      line_end == std::string_view::npos ? before : before.substr(line_end + 1);
  // The following bytes of a UTF-8 sequence are no characters of their own.
  const auto column =
      std::ranges::count_if(
          in_line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }) +
      1;
  return fail(ErrorCode::invalid_model,
              fmt::format("line {}, column {}: {}", line, column, message), {.offset = at});
}

}  // namespace quadrant::inline v0::detail
