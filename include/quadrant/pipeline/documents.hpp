// Files beside models: plans, recipes, statistics, measurements, profiles of machines. Errors name
// the file.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/calibration/moments_file.hpp"
#include "quadrant/engine/gains/hardware_profile.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/run_context.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// A recipe, and what messages call it.
struct NamedRecipe {
  Recipe recipe{};
  std::string label{};
};

/// A recipe of a file.
[[nodiscard]] Expected<NamedRecipe> read_recipe(const std::string& path,
                                                const RunContext& context = {});
/// One that comes with the library, called `preset int8`; `usage`, with near names, for another.
[[nodiscard]] Expected<NamedRecipe> recipe_of_preset(const std::string& name);

/// What `print_plan` printed.
[[nodiscard]] Expected<Plan> read_plan(const std::string& path);

/// Whether a path of calibration is of statistics, not of samples: it ends in `.json`.
[[nodiscard]] bool is_statistics_file(const std::string& path);
/// What `print_statistics` printed.
[[nodiscard]] Expected<StatisticsTable> read_statistics(const std::string& path);
/// The same, of this model: `usage` for a value that it does not have, and where they were gathered
/// on a model of another hash than `model_hash`, the graph's own when it was read; 0: not known.
[[nodiscard]] Expected<StatisticsTable> read_statistics_of(const Graph& graph,
                                                           const std::string& path,
                                                           std::uint64_t model_hash = 0);

/// What `print_moments` printed, of whatever model.
[[nodiscard]] Expected<SavedMoments> read_moments(const std::string& path);
/// That what was read from `path` is of the model of this hash; `usage` where it is not. 0: not
/// known.
[[nodiscard]] Expected<void> check_model(std::uint64_t saved, std::uint64_t model,
                                         const std::string& path);

/// The profile of this name that comes with the library; otherwise the file is read.
[[nodiscard]] Expected<HardwareProfile> read_hardware(const std::string& name_or_file,
                                                      const RunContext& context = {});

}  // namespace quadrant::inline v0
