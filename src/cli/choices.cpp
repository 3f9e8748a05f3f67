#include "cli/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

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

}  // namespace quadrant::cli
