// What values options take: one of several words, numbers.
#pragma once

#include <cstdint>
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

/// Of words and numbers alike: one of `choices`, which are as they are written.
CLI::Validator one_of(std::vector<std::string> choices);
/// Whole numbers. From 2^31 on, `most` is not told.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
/// Numbers; NaN is none.
CLI::Validator number_between(double least, double most);
/// CLI::Number lets NaN pass.
CLI::Validator is_finite();

}  // namespace quadrant::cli
