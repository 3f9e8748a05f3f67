#include "cli/recipe_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cli/arguments.hpp"

namespace quadrant::cli {
namespace {

// The one scheme of a preset, under its name, to be one of several.
Expected<SchemeChoice> choice_of_preset(const std::string& name) {
  QUADRANT_TRY(NamedRecipe preset, recipe_of_preset(name));
  Recipe rest = preset.recipe;
  rest.schemes.clear();
  rest.description.clear();
  if (preset.recipe.schemes.size() == 1 && rest == Recipe{}) {
    SchemeChoice choice = std::move(preset.recipe.schemes[0]);
    choice.name = name;
    return choice;
  }
  return fail(ErrorCode::usage,
              fmt::format("--mix: {} is more than one scheme with its options: use --preset, or a "
                          "recipe of your own",
                          preset.label));
}

Expected<Recipe> recipe_of_mix(const std::vector<std::string>& mix, const SchemeTable& known) {
  Recipe recipe;
  for (const std::string& text : mix) {
    if (const std::size_t equals = text.find('='); equals != std::string::npos) {
      const std::string name = text.substr(0, equals);
      if (name.find(',') != std::string::npos) {
        return fail(ErrorCode::usage,
                    fmt::format("--mix: '{}' is no name: a scheme with options needs a --mix of "
                                "its own, as --mix int8 --mix NAME=SCHEME,OPTION=VALUE",
                                name));
      }
      QUADRANT_TRY(recipe.schemes.emplace_back(), parse_scheme_choice(text, known));
      continue;
    }
    std::string_view rest = text;
    while (true) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      QUADRANT_TRY(recipe.schemes.emplace_back(),
                   choice_of_preset(std::string(rest.substr(0, end))));
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
    }
  }
  std::ranges::sort(recipe.schemes, {}, &SchemeChoice::name);  // as a file has them
  QUADRANT_CHECK(check(recipe, known));
  return recipe;
}

Expected<NamedRecipe> recipe_of_scheme(const std::string& name, const Schemes& schemes) {
  QUADRANT_TRY(const SchemeEntry* const scheme, schemes.known().find(name));
  NamedRecipe made;
  const std::string known(scheme->name);
  made.recipe.schemes.push_back({known, known, schemes.given(*scheme)});
  made.label = known;
  return made;
}

Expected<NamedRecipe> recipe_from(const RecipeOptions& options, const Schemes& schemes) {
  if (!options.file.empty()) return read_recipe(options.file, {.schemes = &schemes.known()});
  if (!options.preset.empty()) return recipe_of_preset(options.preset);
  if (!options.scheme.empty()) return recipe_of_scheme(options.scheme, schemes);
  if (options.mix.empty()) {
    return fail(ErrorCode::usage,
                "one of --scheme, --mix, --preset and --recipe says what to quantize with");
  }
  QUADRANT_TRY(Recipe recipe, recipe_of_mix(options.mix, schemes.known()));
  return NamedRecipe{std::move(recipe), "--mix"};
}

}  // namespace

void declare(CLI::App& command, RecipeOptions& options) {
  CLI::Option* const scheme = add_value(command, "-s,--scheme", options.scheme, "NAME",
                                        "How to quantize; 'quadrant list' shows schemes");
  CLI::Option* const mix =
      add_value(command, "--mix", options.mix, "SCHEMES",
                "Several schemes, of which each weight gets one or none: names of presets, as "
                "in int8,int4-block32, or NAME=SCHEME,OPTION=VALUE,... Repeatable")
          ->allow_extra_args(false);
  CLI::Option* const preset =
      add_value(command, "--preset", options.preset, "NAME",
                "A recipe that comes with the program; 'quadrant list presets' shows them");
  add_value(command, "--recipe", options.file, "FILE",
            "Schemes, and rules that say which weight gets which: a file, as --save-recipe "
            "writes it")
      ->excludes(scheme)
      ->excludes(mix)
      ->excludes(preset);
  preset->excludes(scheme)->excludes(mix);
  mix->excludes(scheme);
}

Expected<NamedRecipe> recipe_of(const RecipeOptions& options, const Schemes& schemes) {
  QUADRANT_TRY(NamedRecipe made, recipe_from(options, schemes));
  QUADRANT_TRY(const RuleSchemes all, schemes_of(made.recipe, schemes.known()));
  std::set<std::string> used;
  for (const SchemeChoice& choice : all.all) used.insert(choice.scheme);
  if (used.empty()) return made;  // a recipe of no scheme, which check_run tells
  QUADRANT_CHECK(schemes.check_given(std::vector<std::string>(used.begin(), used.end()),
                                     options.scheme.empty() ? made.label : std::string()));
  for (const auto& [key, value] : schemes.given_for_model()) made.recipe.model[key] = value;
  return made;
}

void declare(CLI::App& command, ScopeOptions& options) {
  // Each may be given several times, with one value: `--include A --include B MODEL`.
  add_value(command, "--include", options.include, "RE",
            "Quantize only what matches: nodes, weights and values whose name contains a match of "
            "the regular expression. Repeatable")
      ->allow_extra_args(false);
  add_value(command, "--exclude", options.exclude, "RE",
            "Leave what matches in float. Repeatable; stronger than --include")
      ->allow_extra_args(false);
}

}  // namespace quadrant::cli
