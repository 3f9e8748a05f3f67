#include "cli/remedies.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/recipe.hpp"

namespace quadrant::cli {
namespace {

struct Advice {
  Remedy remedy;
  const char* option;
  std::string_view words;  // of the option, and what it does
};

constexpr std::array all_advice{
    Advice{Remedy::another_runtime, "--runtime", "--runtime openvino may"},
    Advice{Remedy::convert_elements, "--convert", "--convert converts them"},
    Advice{Remedy::allow_non_finite, "--allow-non-finite", "--allow-non-finite lets it pass"},
    Advice{Remedy::leave_non_finite, "--non-finite", "--non-finite leave does that"},
    Advice{Remedy::scales_of_channels, "--granularity", "--granularity channel makes them"},
    Advice{Remedy::more_memory, "--run-memory", "--run-memory allows more"},
    Advice{Remedy::give_samples, "--calibration", "--calibration PATH says where they are"},
    Advice{Remedy::fix_shapes, "--shape", "--shape INPUT=1x3x224x224 fixes an input's"},
    Advice{Remedy::follow_links, "--follow-links", "--follow-links follows them"},
};

bool has_option(const CLI::App& command, const char* option) {
  const CLI::Option* const found = command.get_option_no_throw(option);
  return found != nullptr && found->count() != 0;
}

// Whether samples are run to find ranges: the interpreter does that, whatever --runtime says.
bool calibrates(const CLI::App& command) {
  return has_option(command, "--calibration") &&
         !is_statistics_file(command.get_option("--calibration")->as<std::string>());
}

// Scales of blocks come from options of the scheme, or from a recipe, to which no such option can
// be added.
std::string advice_on_blocks(const CLI::App& command, std::string_view words) {
  if (!has_option(command, "--scheme")) return {};
  if (has_option(command, "--type")) {  // which says what --granularity would
    const auto type = command.get_option("--type")->as<std::string>();
    const bool is_signed = type.size() == 4 && type.starts_with("int");
    if (!is_signed && !(type.size() == 5 && type.starts_with("uint"))) return {};
    const std::string codes =
        is_signed ? fmt::format("i{}", type.back()) : fmt::format("(u{} - z)", type.back());
    return fmt::format("; --type '{} * f32[channel] : f32' makes them{}", codes,
                       has_option(command, "--block-size") ? ", without --block-size" : "");
  }
  return fmt::format("; {}{}", words,
                     has_option(command, "--block-size") ? ", without --block-size" : "");
}

}  // namespace

std::string advice(const CLI::App& command, Remedy remedy) {
  const auto* const found = std::ranges::find(all_advice, remedy, &Advice::remedy);
  if (found == all_advice.end()) return {};
  if (remedy == Remedy::another_runtime && calibrates(command)) {
    // Optimizations run the model themselves, and 'optimize' does.
    if (command.get_name() == "optimize" || has_option(command, "--optimize")) return {};
    // Statistics are no samples, which weight-only wants.
    const CLI::Option* const scheme = command.get_option_no_throw("--scheme");
    if (scheme != nullptr && scheme->count() != 0 &&
        scheme->as<std::string>().starts_with("weight")) {
      return {};
    }
    return fmt::format(
        "; 'quadrant calibrate' with {}, and --calibration takes the statistics that it saves",
        found->words);
  }
  const CLI::Option* const option = command.get_option_no_throw(found->option);
  if (option == nullptr) return {};
  const bool is_flag = option->get_items_expected_max() == 0;
  if (is_flag && option->count() != 0) return {};
  if (remedy == Remedy::scales_of_channels) return advice_on_blocks(command, found->words);
  return fmt::format("; {}", found->words);
}

std::string advice_on_transform(const CLI::App& command, std::string_view option) {
  if (command.get_option_no_throw("--optimize") == nullptr || !option.starts_with("--")) return {};
  const std::string_view name = option.substr(2);
  // Corrections are for models that are quantized, which 'transform' does not do.
  if (name.starts_with("bc") && command.get_option_no_throw("--scheme") == nullptr) return {};
  const auto table = recipe_model_options();
  const auto optimize = std::ranges::find(table, "optimize", &OptionSpec::key);
  if (optimize == table.end()) return {};
  const bool is_one =
      std::ranges::find(optimize->words, name, &OptionWord::word) != optimize->words.end();
  return is_one ? fmt::format("; did you mean '--optimize {}'?", name) : std::string();
}

}  // namespace quadrant::cli
