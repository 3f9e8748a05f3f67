// The characters of the text form: words, strings, numbers, and where in the text they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text_syntax.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::detail {

/// A number as it is written: what it means depends on the type that it is for.
struct Number {
  std::string_view text;  ///< `-12`, `1e+30`, `inf`, `nan`
  std::size_t at = 0;
  int nan_digits = 0;  ///< of `nan(0x7fc0)`: 4
  std::uint64_t nan_bits = 0;

  [[nodiscard]] bool is_integer() const noexcept;
};

/// Reads forwards. Everything skips blanks, line ends and comments first, but what fails to be
/// accepted leaves the position where it was.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Nothing but blanks and comments is left.
  [[nodiscard]] bool at_end() { return position() == text_.size(); }
  /// Where the next character that counts is.
  [[nodiscard]] std::size_t position() const;
  /// Where reading stopped.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
  [[nodiscard]] bool next_is(char c) const;
  [[nodiscard]] bool next_is_digit() const;

  bool accept(std::string_view token);
  /// `word` if `next` comes after it, which stays.
  bool accept_word(std::string_view word, char next);
  /// Undoes an `accept_word`.
  void step_back(std::string_view word) noexcept { offset_ -= word.size(); }
  [[nodiscard]] Expected<void> expect(std::string_view token);
  [[nodiscard]] Expected<void> end_of_line();

  /// Letters, digits and `_`; may be empty.
  [[nodiscard]] std::string_view word();
  [[nodiscard]] Expected<std::int64_t> digits();
  [[nodiscard]] Expected<Number> number();
  [[nodiscard]] Expected<std::string> string();
  /// `%name` or `%"name"`, without the sign; not empty.
  [[nodiscard]] Expected<std::string> value_name();
  /// A string, or a word of the given characters that starts with a letter.
  [[nodiscard]] Expected<std::string> word_or_string(bool (*is_char)(char) noexcept,
                                                     std::string_view what);
  /// Pairs of hexadecimal digits, as many as there are.
  [[nodiscard]] Expected<std::vector<std::byte>> hex_bytes();

  /// `line 3, column 7: message`; columns count characters, from 1.
  [[nodiscard]] tl::unexpected<Error> error(std::size_t at, std::string_view message) const;

 private:
  [[nodiscard]] char peek() const noexcept {
    return offset_ < text_.size() ? text_[offset_] : '\0';
  }
  template <class Predicate>
  std::string_view take_while(Predicate predicate);

  std::string_view text_;
  std::size_t offset_ = 0;
};

}  // namespace quadrant::inline v0::detail
