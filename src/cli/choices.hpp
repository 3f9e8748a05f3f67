// What values options take: one of several words, numbers.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
class Validator;
}  // namespace CLI

namespace quadrant::cli {

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& choice,
                        const std::vector<std::string>& words, const std::string& description);
/// Of numbers.
CLI::Option* add_choice(CLI::App& command, const std::string& name, int& choice,
                        const std::vector<int>& numbers, const std::string& description);

/// CLI::Range and CLI::Number let NaN pass.
CLI::Validator is_finite();

}  // namespace quadrant::cli
