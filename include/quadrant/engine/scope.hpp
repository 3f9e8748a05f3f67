// Restricting a run to a part of the graph.
#pragma once

#include <string>
#include <vector>

#include "quadrant/engine/eligibility.hpp"

namespace quadrant::inline v0 {

/// Vetoes that leave only `included` and what serves them: a root (an eligible node without
/// operands, such as a weight) stays if it is included or reaches an included node through
/// Quantizable values; every other root is vetoed with `reason`. `eligibility` is that of an
/// unrestricted phase 1 over the same graph. Linear.
[[nodiscard]] Vetoes restrict_to(const GraphView& graph, const std::vector<NodeId>& order,
                                 const Eligibility& eligibility,
                                 const std::vector<NodeId>& included, const std::string& reason);

}  // namespace quadrant::inline v0
