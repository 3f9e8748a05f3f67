#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::inline v0 {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The part before `separator`, which is taken off `text`.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// The option that has `word` as a flag of its own; null where none has.
const OptionSpec* find_flag_word(std::span<const OptionSpec> options, std::string_view word) {
  for (const OptionSpec& option : options) {
    if (!option.words_are_flags) continue;
    if (std::ranges::find(option.words, word, &OptionWord::word) != option.words.end()) {
      return &option;
    }
  }
  return nullptr;
}

Expected<std::pair<std::string, OptionValue>> parse_setting(const SchemeEntry& scheme,
                                                            std::string_view setting) {
  const bool has_value = setting.find('=') != std::string_view::npos;
  const std::string_view name = take(setting, '=');
  if (!has_value) {
    const OptionSpec* const option = find_flag_word(scheme.options, option_of(key_of(name)));
    if (option != nullptr) {
      return std::pair(std::string(option->key), OptionValue(option_of(key_of(name))));
    }
  }
  QUADRANT_TRY(const OptionSpec* const option,
               find_option(scheme.options, key_of(name), scheme.name));
  std::string_view text = setting;
  if (!has_value) text = option->kind == OptionSpec::Kind::flag ? "true" : option->alone;
  if (text.empty()) {
    return fail(ErrorCode::usage, fmt::format("{0} needs a value: {0}=VALUE, {1}",
                                              option_of(option->key), expectation(*option)));
  }
  QUADRANT_TRY(OptionValue value, parse_option(*option, text));
  return std::pair(std::string(option->key), std::move(value));
}

Error located(Error error, std::string_view choice) {
  error.message = fmt::format("'{}': {}", choice, error.message);
  return error;
}

}  // namespace

Expected<void> check_choice_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  if (name == "float") {
    return fail(ErrorCode::usage,
                "no scheme can be called 'float', which says that nothing is quantized");
  }
  if (name.empty() || name.size() > longest || !std::ranges::all_of(name, is_name_character)) {
    return fail(ErrorCode::usage, fmt::format("'{}' is no name for a scheme: up to {} letters, "
                                              "digits, '_', '-' and '.'",
                                              name, longest));
  }
  return {};
}

Expected<SchemeChoice> parse_scheme_choice(std::string_view text, const SchemeTable& schemes) {
  std::string_view rest = text;
  SchemeChoice choice;
  choice.name = take(rest, '=');
  QUADRANT_CHECK(check_choice_name(choice.name));
  const auto named = [&](Error error) { return fail(located(std::move(error), choice.name)); };
  auto scheme = schemes.find(take(rest, ','));
  if (!scheme) return named(std::move(scheme).error());
  choice.scheme = (*scheme)->name;
  while (!rest.empty()) {
    auto setting = parse_setting(**scheme, take(rest, ','));
    if (!setting) return named(std::move(setting).error());
    const std::string key = setting->first;
    if (!choice.options.insert(*std::move(setting)).second) {
      return named({ErrorCode::usage, fmt::format("{} is given twice", option_of(key)), {}});
    }
  }
  QUADRANT_CHECK(check(choice, schemes));
  return choice;
}

std::string to_string(const SchemeChoice& choice) {
  std::string text = fmt::format("{}={}", choice.name, choice.scheme);
  for (const auto& [key, value] : choice.options) {
    text += fmt::format(",{}={}", key, to_string(value));
  }
  return text;
}

Expected<void> check(const SchemeChoice& choice, const SchemeTable& schemes) {
  QUADRANT_CHECK(check_choice_name(choice.name));
  const auto scheme = schemes.find(choice.scheme);
  if (!scheme) return fail(located(scheme.error(), choice.name));
  const auto made = (*scheme)->make(choice.options, {});
  if (!made) return fail(located(made.error(), choice.name));
  return {};
}

Expected<Registry> make_registry(std::span<const SchemeChoice> choices, const SchemeData& data,
                                 const SchemeTable& schemes) {
  if (choices.size() > most_choices) {
    return fail(ErrorCode::usage, fmt::format("{} schemes in one run: there can be {}",
                                              choices.size(), most_choices));
  }
  std::vector<Registry> registries;
  registries.reserve(choices.size());
  for (const SchemeChoice& choice : choices) {
    QUADRANT_CHECK(check_choice_name(choice.name));
    QUADRANT_TRY(const SchemeEntry* const scheme, schemes.find(choice.scheme));
    auto made = scheme->make(choice.options, data);
    if (!made) return fail(located(std::move(made).error(), choice.name));
    registries.push_back(made->renamed(choice.name));
  }
  return Registry::join(registries);
}

}  // namespace quadrant::inline v0
