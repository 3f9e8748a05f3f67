#include "cli/schemes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/table_options.hpp"
#include "quadrant/recipe/recipe.hpp"

namespace quadrant::cli {
namespace {

// Schemes that an input is for alone.
constexpr std::string_view of_encodings = "static_affine";
constexpr std::string_view of_moments = "weight_only";

// Empty: for all that take data.
std::string_view owner_of(const CLI::Option& input) {
  if (input.get_name() == "--encodings") return of_encodings;
  return input.get_name() == "--moments" ? of_moments : std::string_view();
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

bool Schemes::has(std::string_view name) const {
  return std::ranges::any_of(schemes_,
                             [&](const Declared& scheme) { return scheme.entry->name == name; });
}

void Schemes::declare_shared(CLI::App& command) {
  command
      .add_option("--calibration", inputs_.calibration,
                  "Samples (as for 'quadrant calibrate --data'): static_affine finds ranges on "
                  "them, weight_only rounds weights by them. Of static_affine also statistics that "
                  "'quadrant calibrate' saved: a .json file")
      ->type_name("PATH");
  if (has(of_moments)) {
    command
        .add_option("--moments", inputs_.moments,
                    "Of weight_only: second moments that 'quadrant calibrate --moments' saved, to "
                    "round weights by in place of samples")
        ->type_name("FILE");
  }
  if (has(of_encodings)) {
    command
        .add_option("--encodings", inputs_.encodings,
                    "Of static_affine: encodings that count instead of what would be found, a file "
                    "as AIMET exports and 'quadrant encodings' writes. --calibration can be left "
                    "out where they are all that is needed")
        ->type_name("FILE");
  }
  cli::declare(command, recipe_model_options(), for_model_);
}

void Schemes::declare(CLI::App& command) {
  shared_ = under_heading(command, "Data, and what is done to the float model before",
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
  const bool takes_data = std::ranges::any_of(
      schemes_, [&](const Declared& scheme) { return is_used(scheme.entry->name); });
  for (const CLI::Option* const option : shared_) {
    const std::string_view owner = owner_of(*option);
    if (is_given(option) && (owner.empty() ? !takes_data : !is_used(owner))) {
      return not_of(option->get_name(), owner.empty() ? of_encodings : owner);
    }
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
