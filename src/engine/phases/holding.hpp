// Whether the IR of a graph can hold a form, where it says so.
#pragma once

#include <optional>
#include <string>

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Why the graph cannot have the value in that form: it does not hold the type, or cannot make
/// floats of it again. Empty: it can, or it is not known.
[[nodiscard]] std::optional<std::string> why_not_held(const GraphView& graph,
                                                      const Registry& registry,
                                                      const ConstraintTable& constraints,
                                                      Value value, ConstraintId form);

/// The same for a form that is made of floats.
[[nodiscard]] std::optional<std::string> why_not_entered(const GraphView& graph,
                                                         const Registry& registry,
                                                         const ConstraintTable& constraints,
                                                         Value value, ConstraintId form);

}  // namespace quadrant::inline v0
