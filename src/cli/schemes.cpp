#include "cli/schemes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include "cli/table_options.hpp"
#include "quadrant/recipe/recipe.hpp"

namespace quadrant::cli {
namespace {

constexpr std::string_view calibration_option = "--calibration";
constexpr std::string_view moments_option = "--moments";
constexpr std::string_view encodings_option = "--encodings";

// One that all share. Samples are for each: biases are corrected on them.
bool takes(const SchemeEntry& scheme, std::string_view option) {
  if (option == calibration_option) return true;
  if (option == moments_option) return scheme.takes_moments;
  if (option == encodings_option) return scheme.name == "static_affine";
  return std::ranges::any_of(model_options_of(scheme), [&](const OptionSpec& spec) {
    return option.substr(2) == option_of(spec.key);
  });
}

bool is_given(const CLI::Option* option) { return option->count() != 0; }

// Of its options.
std::string prefix_of(const SchemeEntry& scheme) {
  const bool is_ours = find_scheme(scheme.name).has_value();
  return is_ours ? std::string() : option_of(scheme.name) + '-';
}

// What `declare` adds to the command, under a heading.
template <class Declare>
std::vector<const CLI::Option*> under_heading(CLI::App& command, const std::string& heading,
                                              Declare declare) {
  const auto before = command.get_options();
  declare();
  std::vector<const CLI::Option*> added;
  for (CLI::Option* const option : command.get_options()) {
    if (std::ranges::find(before, option) != before.end()) continue;
    option->group(heading);
    added.push_back(option);
  }
  return added;
}

}  // namespace

Schemes::Schemes(const SchemeTable& known) : known_(&known) {
  for (const SchemeEntry& entry : known) schemes_.push_back({&entry, {}, {}});
}

Schemes::Schemes(const SchemeEntry& scheme) : known_(&known_schemes()) {
  schemes_.push_back({&scheme, {}, {}});
}

template <class Fits>
std::string Schemes::names_where(Fits fits) const {
  std::vector<std::string_view> names;
  for (const Declared& scheme : schemes_) {
    if (std::invoke(fits, *scheme.entry)) names.push_back(scheme.entry->name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Schemes::takers(std::string_view option) const {
  return names_where([&](const SchemeEntry& scheme) { return takes(scheme, option); });
}

void Schemes::declare_shared(CLI::App& command) {
  std::string samples = "Samples (as for 'quadrant calibrate --data'): ";
  const std::string ranges = names_where(&SchemeEntry::needs_data);
  const std::string of_moments = takers(moments_option);
  if (!ranges.empty()) samples += fmt::format("ranges are found on them ({}), ", ranges);
  if (!of_moments.empty()) samples += fmt::format("weights rounded by them ({}), ", of_moments);
  samples += "biases corrected";
  if (!ranges.empty()) {
    samples += ". For ranges also statistics that 'quadrant calibrate' saved: a .json file";
  }
  command.add_option(std::string(calibration_option), inputs_.calibration, samples)
      ->type_name("PATH");
  if (!of_moments.empty()) {
    command
        .add_option(std::string(moments_option), inputs_.moments,
                    fmt::format("Of {}: second moments that 'quadrant calibrate --moments' saved, "
                                "to round weights by in place of samples",
                                of_moments))
        ->type_name("FILE");
  }
  if (const std::string of_encodings = takers(encodings_option); !of_encodings.empty()) {
    command
        .add_option(std::string(encodings_option), inputs_.encodings,
                    fmt::format("Of {}: encodings to use instead of those of calibration, a file "
                                "as AIMET exports and 'quadrant encodings' writes. --calibration "
                                "can be left out where they are all that is needed",
                                of_encodings))
        ->type_name("FILE");
  }
  if (schemes_.size() == 1) {
    cli::declare(command, model_options_of(*schemes_.front().entry), for_model_);
  } else {
    cli::declare(command, recipe_model_options(), for_model_);
  }
}

void Schemes::declare(CLI::App& command) {
  shared_ = under_heading(command, "Data, and transforms of the float model",
                          [&] { declare_shared(command); });
  for (Declared& scheme : schemes_) {
    scheme.options = under_heading(command, fmt::format("Options of {}", scheme.entry->name), [&] {
      cli::declare(command, scheme.entry->options, scheme.given, prefix_of(*scheme.entry));
    });
  }
}

const OptionValues& Schemes::given(const SchemeEntry& scheme) const {
  return std::ranges::find(schemes_, &scheme, &Declared::entry)->given;
}

std::string Schemes::given_option(const SchemeEntry& scheme) const {
  const auto& options = std::ranges::find(schemes_, &scheme, &Declared::entry)->options;
  const auto found = std::ranges::find_if(options, is_given);
  return found == options.end() ? std::string() : (*found)->get_name();
}

Expected<void> Schemes::check_given(std::span<const std::string> used,
                                    std::string_view chosen_elsewhere) const {
  const auto is_used = [&](std::string_view scheme) {
    return std::ranges::find(used, scheme) != used.end();
  };
  const auto not_of = [&](const std::string& option, std::string_view scheme) {
    return fail(ErrorCode::usage,
                fmt::format("{0} is an option of {1}, not of {2}: 'quadrant list {2}' shows those",
                            option, scheme, fmt::join(used, ", ")));
  };
  for (const CLI::Option* const option : shared_) {
    const std::string name = option->get_name();
    const bool is_taken = std::ranges::any_of(schemes_, [&](const Declared& scheme) {
      return is_used(scheme.entry->name) && takes(*scheme.entry, name);
    });
    if (is_given(option) && !is_taken) return not_of(name, takers(name));
  }
  for (const Declared& scheme : schemes_) {
    const auto given = std::ranges::find_if(scheme.options, is_given);
    if (given == scheme.options.end()) continue;
    if (!is_used(scheme.entry->name)) return not_of((*given)->get_name(), scheme.entry->name);
    if (chosen_elsewhere.empty()) continue;
    return fail(ErrorCode::usage,
                fmt::format("{} is an option of --scheme: {} has options of its own",
                            (*given)->get_name(), chosen_elsewhere));
  }
  return {};
}

Expected<void> Schemes::check_none_given() const {
  const auto check = [](std::span<const CLI::Option* const> options, std::string_view whose) {
    const auto given = std::ranges::find_if(options, is_given);
    return given == options.end()
               ? Expected<void>()
               : fail(ErrorCode::usage,
                      fmt::format("{} is an option of {}, which --scheme names: without it nothing "
                                  "is quantized",
                                  (*given)->get_name(), whose));
  };
  QUADRANT_CHECK(check(shared_, "schemes"));
  for (const Declared& scheme : schemes_) {
    QUADRANT_CHECK(check(scheme.options, scheme.entry->name));
  }
  return {};
}

}  // namespace quadrant::cli
