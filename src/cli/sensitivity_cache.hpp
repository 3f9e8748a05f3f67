// What `sensitivity --cache` saved, and whether it is of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// The name that a reader of JSON gets to see, which is also that of what was saved before.
[[nodiscard]] std::string name_in_json(std::string_view name);

/// What was saved must be of this model's outputs.
[[nodiscard]] Expected<void> check_outputs(const SensitivityCache& saved, const Graph& graph);

/// The file's study, the most sensitive layers first; fails where its outputs are not the graph's.
/// Errors name the file.
[[nodiscard]] Expected<std::vector<LayerSensitivity>> read_sensitivity(const std::string& path,
                                                                       const Graph& graph);

}  // namespace quadrant::cli
