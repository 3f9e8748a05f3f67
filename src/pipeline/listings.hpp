// What the library knows, to look up: for people, as tables, and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

struct Listing {
  std::string text;
  Json json;
};

/// Names and summaries.
[[nodiscard]] Listing list_schemes(const SchemeTable& schemes);
/// Operations that the registry's schemes have methods for, each with what its parents must be.
[[nodiscard]] Listing list_methods(const Registry& registry);
/// Operations that the interpreter computes, by what ONNX calls them.
[[nodiscard]] Listing list_operations();
/// Recipes that come with the library.
[[nodiscard]] Expected<Listing> list_presets();
/// Machines whose times can be predicted.
[[nodiscard]] Listing list_hardware();
/// Number formats by name, with the bits of a weight in a square matrix of `columns`.
[[nodiscard]] Listing list_types(std::int64_t columns);

// What the kernels of targets compute on codes, as tables: of `qdq_fusion` and `fake_quantize`.

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
