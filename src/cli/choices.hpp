// Options that are one of several words.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace quadrant::cli {

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& choice,
                        const std::vector<std::string>& words, const std::string& description);
/// Of numbers.
CLI::Option* add_choice(CLI::App& command, const std::string& name, int& choice,
                        const std::vector<int>& numbers, const std::string& description);

}  // namespace quadrant::cli
