#include "recipe/typed_recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::inline v0 {
namespace {

std::string typed(const OptionSpec& spec, const OptionValue& value) {
  const std::string option = " --" + option_of(spec.key);
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? option : "";
  if (const auto* const words = std::get_if<std::vector<std::string>>(&value)) {
    return fmt::format("{} {}", option, shell_word(fmt::format("{}", fmt::join(*words, ","))));
  }
  const std::string word = to_string(value);
  return spec.words_are_flags ? " --" + word : fmt::format("{} {}", option, shell_word(word));
}

std::string typed(std::span<const OptionSpec> options, const OptionValues& values) {
  std::string text;
  for (const OptionSpec& spec : options) {
    const auto found = values.find(spec.key);
    if (found != values.end()) text += typed(spec, found->second);
  }
  return text;
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char character : text) word += character == '\'' ? "'\\''" : std::string(1, character);
  return word + "'";
}

std::string typed_call(const TypedFiles& files, const Recipe& recipe) {
  const bool is_onnx = files.output.ends_with(".onnx");
  return fmt::format("quadrant {} {}{}{} {} --calibration {}", is_onnx ? "quantize" : "convert",
                     shell_word(files.model), is_onnx ? " -o " : " ", shell_word(files.output),
                     typed_options(recipe), shell_word(files.calibration));
}

std::string typed_options(const Recipe& recipe) {
  std::string text;
  if (!recipe.schemes.empty()) {
    const SchemeChoice& choice = recipe.schemes.front();
    text = "--scheme " + option_of(choice.scheme);
    if (const auto scheme = find_scheme(choice.scheme)) {
      text += typed((*scheme)->options, choice.options);
    }
  }
  text += typed(recipe_model_options(), recipe.model);
  for (const std::string& pattern : recipe.exclude) text += " --exclude " + shell_word(pattern);
  return text;
}

}  // namespace quadrant::inline v0
