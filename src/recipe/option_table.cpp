#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>

#include "quadrant/recipe/scheme_table.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

using Kind = OptionSpec::Kind;

template <class T>
std::string or_list(const std::vector<T>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) text += i + 1 == items.size() ? " or " : ", ";
    text += fmt::to_string(items[i]);
  }
  return text;
}

std::vector<std::string_view> words_of(const OptionSpec& option) {
  std::vector<std::string_view> words;
  words.reserve(option.words.size());
  for (const OptionWord& word : option.words) words.push_back(word.word);
  return words;
}

bool has_word(const OptionSpec& option, std::string_view word) {
  return std::ranges::find(option.words, word, &OptionWord::word) != option.words.end();
}

bool is_within(const OptionSpec& option, double number) {
  return number >= option.least && number <= option.most;
}

bool is_of_kind(const OptionSpec& option, const OptionValue& value) {
  switch (option.kind) {
    case Kind::flag:
      return std::holds_alternative<bool>(value);
    case Kind::integer:
      return std::holds_alternative<std::int64_t>(value);
    case Kind::real:
      return std::holds_alternative<double>(value);
    case Kind::word:
    case Kind::text:
      return std::holds_alternative<std::string>(value);
    case Kind::words:
      return std::holds_alternative<std::vector<std::string>>(value);
  }
  return false;
}

bool can_have(const OptionSpec& option, const OptionValue& value) {
  if (!is_of_kind(option, value)) return false;
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return option.numbers.empty()
               ? is_within(option, static_cast<double>(*number))
               : std::ranges::find(option.numbers, *number) != option.numbers.end();
  }
  if (const auto* const number = std::get_if<double>(&value)) return is_within(option, *number);
  if (option.kind == Kind::text) return true;
  if (const auto* const word = std::get_if<std::string>(&value)) return has_word(option, *word);
  if (const auto* const words = std::get_if<std::vector<std::string>>(&value)) {
    return std::ranges::all_of(*words, [&](const auto& word) { return has_word(option, word); });
  }
  return true;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<OptionValue> value_of(const OptionSpec& option, std::string_view text) {
  switch (option.kind) {
    case Kind::flag:
      if (text == "true") return true;
      if (text == "false") return false;
      return std::nullopt;
    case Kind::integer:
      return number_of<std::int64_t>(text);
    case Kind::real:
      return number_of<double>(text);
    case Kind::word:
    case Kind::text:
      return std::string(text);
    case Kind::words:
      return split(text, '+');
  }
  return std::nullopt;
}

}  // namespace

std::string key_of(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string key(option);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string option_of(std::string_view key) {
  std::string option(key);
  std::ranges::replace(option, '_', '-');
  return option;
}

std::string describe(const OptionSpec& option) {
  std::string text(option.summary);
  for (const OptionWord& word : option.words) {
    if (!word.summary.empty()) text += fmt::format("; {}: {}", word.word, word.summary);
  }
  return text;
}

std::string expectation(const OptionSpec& option) {
  switch (option.kind) {
    case Kind::flag:
      return "true or false";
    case Kind::integer:
      return option.numbers.empty()
                 ? fmt::format("an integer from {:.0f} to {:.0f}", option.least, option.most)
                 : or_list(option.numbers);
    case Kind::real:
      return fmt::format("a number from {} to {}", option.least, option.most);
    case Kind::word:
      return or_list(words_of(option));
    case Kind::words:
      return fmt::format("a list of {}", or_list(words_of(option)));
    case Kind::text:
      return "text";
  }
  return {};
}

std::optional<std::string> refusal(const OptionSpec& option, const OptionValue& value) {
  if (can_have(option, value)) return std::nullopt;
  std::string near;
  if (const auto* const word = std::get_if<std::string>(&value)) {
    near = did_you_mean(*word, words_of(option));
  }
  return fmt::format("expected {}, found '{}'{}", expectation(option), to_string(value), near);
}

Expected<OptionValue> parse_option(const OptionSpec& option, std::string_view text) {
  std::optional<OptionValue> value = value_of(option, text);
  std::optional<std::string> why;
  if (value) {
    why = refusal(option, *value);
  } else {
    why = fmt::format("expected {}, found '{}'", expectation(option), text);
  }
  if (why) return fail(ErrorCode::usage, fmt::format("{}: {}", option.key, *why));
  return *std::move(value);
}

std::string to_string(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(held, "+"));
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

Expected<const OptionSpec*> find_option(std::span<const OptionSpec> options, std::string_view key,
                                        std::string_view of) {
  const auto found = std::ranges::find(options, key, &OptionSpec::key);
  if (found != options.end()) return &*found;
  const auto of_word = std::ranges::find_if(
      options, [key](const OptionSpec& option) { return has_word(option, key); });
  if (of_word != options.end()) {
    return fail(ErrorCode::usage, fmt::format("{} has no option '{}'; it is said by '{}': \"{}\"",
                                              of, key, of_word->key, key));
  }
  std::vector<std::string_view> keys;
  keys.reserve(options.size());
  for (const OptionSpec& option : options) keys.push_back(option.key);
  return fail(ErrorCode::usage,
              fmt::format("{} has no option '{}'{}", of, key, did_you_mean_or_all(key, keys)));
}

Expected<void> check_options(std::span<const OptionSpec> options, const OptionValues& values,
                             std::string_view of) {
  for (const auto& [key, value] : values) {
    QUADRANT_TRY(const OptionSpec* const option, find_option(options, key, of));
    if (const auto why = refusal(*option, value)) {
      return fail(ErrorCode::usage, fmt::format("{} of {}: {}", key, of, *why));
    }
  }
  return {};
}

}  // namespace quadrant::inline v0
