#include "cli/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>

namespace quadrant::cli {
namespace {

template <class T>
CLI::Option* add(CLI::App& command, const std::string& name, T& choice,
                 const std::vector<T>& choices, const std::string& description) {
  return command.add_option(name, choice, description)
      ->check(CLI::IsMember(choices).description(""))
      ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

}  // namespace

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& choice,
                        const std::vector<std::string>& words, const std::string& description) {
  return add(command, name, choice, words, description);
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, int& choice,
                        const std::vector<int>& numbers, const std::string& description) {
  return add(command, name, choice, numbers, description);
}

CLI::Validator is_finite() {
  return {[](const std::string& text) {
            double value = 0;
            const bool is_refused = CLI::detail::lexical_cast(text, value) && !std::isfinite(value);
            return std::string(is_refused ? "it is no finite number" : "");
          },
          ""};
}

}  // namespace quadrant::cli
