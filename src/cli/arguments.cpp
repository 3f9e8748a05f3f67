#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "support/near_names.hpp"

namespace quadrant::cli {

CLI::Option* add_argument(CLI::App& command, const std::string& name, std::string& value,
                          const std::string& description) {
  return add_value(command, name, value, "", description)->required();
}

CLI::Option* add_model(CLI::App& command, std::string& path) {
  return add_argument(command, "MODEL", path, "Model to read: .onnx, .tflite, .xml, or .qd, text");
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& choice,
                        const std::vector<std::string>& words, const std::string& description) {
  return add_value(command, name, choice, fmt::format("{}", fmt::join(words, "|")), description)
      ->check(one_of(words));
}

void declare_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print one JSON document, for programs");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  return {[choices = std::move(choices)](const std::string& text) {
            if (std::ranges::find(choices, text) != choices.end()) return std::string();
            const std::vector<std::string_view> names(choices.begin(), choices.end());
            return fmt::format("there is no '{}'{}", text, did_you_mean_or_all(text, names));
          },
          ""};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return {[=](const std::string& text) {
            std::int64_t value = 0;
            const bool is_one = CLI::detail::lexical_cast(text, value);
            if (is_one && value >= least && value <= most) return std::string();
            constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
            return most > any
                       ? fmt::format("'{}' is not a whole number of {} or more", text, least)
                       : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
          },
          ""};
}

CLI::Validator number_between(double least, double most) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool is_one = CLI::detail::lexical_cast(text, value);
            if (is_one && value >= least && value <= most) return std::string();
            return fmt::format("'{}' is not a number from {} to {}", text, least, most);
          },
          ""};
}

CLI::Validator is_finite() {
  return {[](const std::string& text) {
            double value = 0;
            const bool is_refused = CLI::detail::lexical_cast(text, value) && !std::isfinite(value);
            return std::string(is_refused ? "it is not a finite number" : "");
          },
          ""};
}

}  // namespace quadrant::cli
