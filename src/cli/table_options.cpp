#include "cli/table_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/typed_keys.hpp"

namespace quadrant::cli {
namespace {

std::vector<std::string> words_of(const OptionSpec& option) {
  std::vector<std::string> words;
  words.reserve(option.words.size());
  for (const OptionWord& word : option.words) words.emplace_back(word.word);
  return words;
}

// Adds options to one command.
class OptionDeclarer {
 public:
  OptionDeclarer(CLI::App& command, OptionValues& values, std::string_view prefix)
      : command_(command), values_(values), prefix_(prefix) {}

  void declare(const OptionSpec& spec) const {
    switch (spec.kind) {
      case OptionSpec::Kind::flag:
        command_.add_flag_callback(name(spec.key), setter(spec, true), text(spec));
        break;
      case OptionSpec::Kind::integer:
        declare_integer(spec);
        break;
      case OptionSpec::Kind::real:
        finish(spec, add<double>(spec)
                         ->check(number_between(spec.least, spec.most))
                         ->type_name(std::string(spec.placeholder)));
        break;
      case OptionSpec::Kind::word:
        declare_word(spec);
        break;
      case OptionSpec::Kind::text:
        finish(spec, add<std::string>(spec)->type_name(std::string(spec.placeholder)));
        break;
      case OptionSpec::Kind::words:
        finish(spec, add<std::vector<std::string>>(spec)
                         ->delimiter(',')
                         ->check(one_of(words_of(spec)))
                         ->type_name(std::string(spec.placeholder)));
        break;
    }
  }

 private:
  [[nodiscard]] std::string name(std::string_view key) const {
    return fmt::format("--{}{}", prefix_, option_of(key));
  }
  static std::string text(const OptionSpec& spec) {
    constexpr double open_end = 1e6;  // above, only the least is worth telling
    const bool has_range =
        spec.numbers.empty() && spec.least < spec.most && spec.most < open_end &&
        (spec.kind == OptionSpec::Kind::integer || spec.kind == OptionSpec::Kind::real);
    const std::string text =
        typed_keys(describe(spec), [](const std::string& /*option*/) { return true; });
    return has_range ? fmt::format("{}: {}", text, expectation(spec)) : text;
  }

  [[nodiscard]] std::function<void()> setter(const OptionSpec& spec, OptionValue value) const {
    return [&values = values_, key = std::string(spec.key), value = std::move(value)] {
      values[key] = value;
    };
  }

  template <class T>
  [[nodiscard]] CLI::Option* add(const OptionSpec& spec) const {
    return command_.add_option_function<T>(
        name(spec.key),
        [&values = values_, key = std::string(spec.key)](const T& value) { values[key] = value; },
        text(spec));
  }

  static void finish(const OptionSpec& spec, CLI::Option* option) {
    if (!spec.fallback.empty()) option->default_str(std::string(spec.fallback));
  }

  void declare_integer(const OptionSpec& spec) const {
    CLI::Option* const option = add<std::int64_t>(spec);
    if (spec.numbers.empty()) {
      option
          ->check(whole_number(static_cast<std::int64_t>(spec.least),
                               static_cast<std::int64_t>(spec.most)))
          ->type_name(std::string(spec.placeholder));
    } else {
      std::vector<std::string> words;
      words.reserve(spec.numbers.size());
      for (const std::int64_t number : spec.numbers) words.push_back(fmt::to_string(number));
      option->check(one_of(words))->type_name(fmt::format("{}", fmt::join(words, "|")));
    }
    finish(spec, option);
  }

  void declare_word(const OptionSpec& spec) const {
    if (spec.words_are_flags) {
      declare_words_as_flags(spec);
      return;
    }
    const std::vector<std::string> words = words_of(spec);
    const std::string shown = fmt::format("{}", fmt::join(words, "|"));
    CLI::Option* const option = command_.add_option_function<std::string>(
        name(spec.key),
        [&values = values_, key = std::string(spec.key), alone = std::string(spec.alone)](
            const std::string& word) { values[key] = word.empty() ? alone : word; },
        text(spec));
    option->check(one_of(words))->type_name(shown);
    if (!spec.alone.empty()) option->expected(0, 1)->type_name(fmt::format("[{}]", shown));
    finish(spec, option);
  }

  // At most one of them.
  void declare_words_as_flags(const OptionSpec& spec) const {
    std::vector<CLI::Option*> flags;
    for (const OptionWord& word : spec.words) {
      CLI::Option* const flag = command_.add_flag_callback(
          name(word.word), setter(spec, std::string(word.word)), std::string(word.summary));
      for (CLI::Option* const other : flags) other->excludes(flag);
      flags.push_back(flag);
    }
  }

  CLI::App& command_;
  OptionValues& values_;
  std::string_view prefix_;
};

}  // namespace

void declare(CLI::App& command, std::span<const OptionSpec> options, OptionValues& values,
             std::string_view prefix) {
  const OptionDeclarer declarer(command, values, prefix);
  for (const OptionSpec& option : options) declarer.declare(option);
}

}  // namespace quadrant::cli
