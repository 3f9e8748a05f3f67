// What is in a model, for people and for programs.
#pragma once

#include <string>

#include "quadrant/ir/graph.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

// `graph` is what `read_model(path)` read. Constants are as the file has them, in its types, the
// largest first.

/// Tables: the file, inputs, outputs, operations by kind, constants by type, the ten largest.
[[nodiscard]] std::string print_contents(const Graph& graph, const std::string& path);
/// The same, with all constants.
[[nodiscard]] Json contents_json(const Graph& graph, const std::string& path);

}  // namespace quadrant::inline v0
