// What the library knows, to look up: for people, as tables, and for programs.
#pragma once

#include <string>

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

}  // namespace quadrant::inline v0
