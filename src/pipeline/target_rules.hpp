// What the kernels of targets compute on codes, as tables: of `qdq_fusion` and `fake_quantize`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/json.hpp"

namespace quadrant::inline v0 {

struct TargetRules {
  std::string target;
  std::vector<std::vector<std::string>> rows;
};

/// The tables of a scheme that runs for targets.
struct TargetScheme {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string> columns;
  std::vector<TargetRules> targets;
};

/// The names of these schemes.
[[nodiscard]] std::vector<std::string_view> target_schemes();
/// Empty for another name; `-` counts as `_`.
[[nodiscard]] std::optional<TargetScheme> find_target_scheme(std::string_view name);

[[nodiscard]] Json to_json(const TargetScheme& scheme);

}  // namespace quadrant::inline v0
