// Arguments as commands declare them, and the values that they take: words, numbers.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrant::cli {

/// An option with a value, which help shows as `--name TYPE`.
template <class T>
CLI::Option* add_value(CLI::App& command, const std::string& name, T& value,
                       const std::string& type, const std::string& description) {
  return command.add_option(name, value, description)->type_name(type);
}
/// An argument without a name before it, which must be there.
CLI::Option* add_argument(CLI::App& command, const std::string& name, std::string& value,
                          const std::string& description);
/// MODEL, of any format.
CLI::Option* add_model(CLI::App& command, std::string& path);
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& choice,
                        const std::vector<std::string>& words, const std::string& description);
/// --json.
void declare_json(CLI::App& command, bool& json);

/// Of words and numbers alike: one of `choices`, which are as they are written.
CLI::Validator one_of(std::vector<std::string> choices);
/// Whole numbers. From 2^31 on, `most` is not told.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
/// Numbers; NaN is none.
CLI::Validator number_between(double least, double most);
/// CLI::Number lets NaN pass.
CLI::Validator is_finite();

}  // namespace quadrant::cli
