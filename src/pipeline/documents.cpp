#include "quadrant/recipe/documents.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "recipe/node_names.hpp"
#include "support/input_file.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

namespace fs = std::filesystem;

// What `parse` makes of a file; its errors get the name.
template <class Parse>
std::invoke_result_t<Parse, std::string_view> read_as(const std::string& path, Parse parse) {
  QUADRANT_TRY(const std::string text, read_text(path));
  auto result = parse(text);
  if (!result) result.error().place.file = path;
  return result;
}

}  // namespace

Expected<NamedRecipe> read_recipe(const std::string& path, const RunContext& context) {
  QUADRANT_TRY(Recipe recipe, read_as(path, [&](std::string_view text) {
                 return parse_recipe(text, context.all_schemes());
               }));
  return NamedRecipe{std::move(recipe), path};
}

Expected<NamedRecipe> recipe_of_preset(const std::string& name) {
  QUADRANT_TRY(const Preset* const preset, find_preset(name));
  QUADRANT_TRY(Recipe recipe, parse_recipe(preset->text));
  return NamedRecipe{std::move(recipe), fmt::format("preset {}", name)};
}

Expected<Plan> read_plan(const std::string& path) { return read_as(path, parse_plan); }

bool is_statistics_file(const std::string& path) { return fs::path(path).extension() == ".json"; }

Expected<StatisticsTable> read_statistics(const std::string& path) {
  return read_as(path, parse_statistics);
}

Expected<StatisticsTable> read_statistics_of(const Graph& graph, const std::string& path,
                                             std::uint64_t model_hash) {
  QUADRANT_TRY(StatisticsTable table, read_statistics(path));
  for (const auto& [name, statistics] : table.values) {
    if (!graph.find_value(name).is_absent()) continue;
    return fail(ErrorCode::usage,
                fmt::format("the model has no value '{}': these statistics are of another model{}",
                            name, did_you_mean(name, all_names(graph))),
                {.file = path});
  }
  QUADRANT_CHECK(check_model(table.model_hash, model_hash, path));
  return table;
}

Expected<SavedMoments> read_moments(const std::string& path) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 40U;
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  QUADRANT_TRY(const std::string bytes, file.text(largest, "second moments"));
  return in_file(parse_moments(bytes), path);
}

Expected<void> check_model(std::uint64_t saved, std::uint64_t model, const std::string& path) {
  if (saved == model || saved == 0 || model == 0) return {};
  return fail(ErrorCode::usage,
              "this was gathered on another model, of other contents: gather it on this one",
              {.file = path});
}

Expected<HardwareProfile> read_hardware(const std::string& name_or_file,
                                        const RunContext& context) {
  if (const HardwareProfile* const known = find_hardware_profile(name_or_file)) return *known;
  std::error_code unknown;
  if (!fs::exists(name_or_file, unknown) && !unknown) {
    std::vector<std::string_view> names;
    for (const HardwareProfile& profile : hardware_profiles()) names.push_back(profile.name);
    return fail(ErrorCode::usage,
                fmt::format("there is no hardware profile, nor a file, '{}'{}", name_or_file,
                            did_you_mean_or_all(name_or_file, names)));
  }
  if (context.files != nullptr) QUADRANT_CHECK(context.files->read(name_or_file));
  return read_as(name_or_file, parse_hardware);
}

}  // namespace quadrant::inline v0
