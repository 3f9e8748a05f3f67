// Explanations for programs: engine/explain.hpp has them as text.
#pragma once

#include <span>
#include <string>

#include "quadrant/engine/explain/explain.hpp"

namespace quadrant::inline v0 {

/// A JSON array with one object for each explanation, in their order.
[[nodiscard]] std::string print_json(std::span<const Explanation> explanations);

}  // namespace quadrant::inline v0
