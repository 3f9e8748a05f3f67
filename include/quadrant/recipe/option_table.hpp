// What can be set, as data: from one table of options the command makes its `--options`, recipes
// their keys, and the schema of recipes its properties.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
/// The options that are given, by key; those that are not have their defaults.
using OptionValues = std::map<std::string, OptionValue, std::less<>>;

/// One of the words that an option takes.
struct OptionWord {
  std::string_view word;
  std::string_view summary = {};
};

/// An option. Refers to text that lives as long as the program.
struct OptionSpec {
  enum class Kind : std::uint8_t {
    flag,     ///< bool
    integer,  ///< std::int64_t
    real,     ///< double
    word,     ///< std::string, one of `words`
    words,    ///< several of them
    text,     ///< std::string, which its owner reads
  };

  std::string_view key;  ///< `block_size`; on the command line `--block-size`
  Kind kind = Kind::flag;
  std::string_view summary;
  std::vector<OptionWord> words = {};
  std::vector<std::int64_t> numbers = {};  ///< those that there are; empty: any of the range
  double least = 0;                        ///< of an integer or a real
  double most = 0;
  std::string_view placeholder = {};  ///< for a number of a range or text, in help: `N`
  std::string_view fallback = {};     ///< the default, where it is always the same
  bool words_are_flags = false;       ///< `--asymmetric` for `symmetry` = `asymmetric`
  std::string_view alone = {};        ///< the word that the option means without one
};

/// `block_size` for `--block-size`, `block-size` and `block_size`.
[[nodiscard]] std::string key_of(std::string_view option);
/// `block-size`, without dashes before it.
[[nodiscard]] std::string option_of(std::string_view key);

/// What the option is, for people, its words included.
[[nodiscard]] std::string describe(const OptionSpec& option);
/// What the option takes, for people: `8 or 4`, `a number from 50 to 100`.
[[nodiscard]] std::string expectation(const OptionSpec& option);
/// Why the option cannot have this value; empty where it can.
[[nodiscard]] std::optional<std::string> refusal(const OptionSpec& option,
                                                 const OptionValue& value);
/// The value that `text` means: `4`, `true`, `mse`, `cle+hba`. `usage` where it means none.
[[nodiscard]] Expected<OptionValue> parse_option(const OptionSpec& option, std::string_view text);
/// The other way.
[[nodiscard]] std::string to_string(const OptionValue& value);

/// The option of that key; `usage`, with near names, where there is none. `of`: whose, for that
/// message.
[[nodiscard]] Expected<const OptionSpec*> find_option(std::span<const OptionSpec> options,
                                                      std::string_view key, std::string_view of);

/// The given value, or null. The type is that of the option's kind once the values were checked.
template <class T>
[[nodiscard]] const T* given(const OptionValues& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : std::get_if<T>(&found->second);
}

/// Whether each is an option of the table, with a value that it can have: else `usage`.
[[nodiscard]] Expected<void> check_options(std::span<const OptionSpec> options,
                                           const OptionValues& values, std::string_view of);

}  // namespace quadrant::inline v0
