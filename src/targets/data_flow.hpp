// What flows through a graph: values that depend on its inputs, and the nodes that only say how
// they are represented.
#pragma once

#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// By node index: whether the results depend on an input of the graph, or are drawn anew at each
/// run. What does not is a parameter, or is made of parameters alone. `order`: topological. Linear.
[[nodiscard]] std::vector<bool> find_varying(const GraphView& graph,
                                             const std::vector<NodeId>& order);

/// Float values to codes, whichever operator says it.
[[nodiscard]] bool makes_codes(std::string_view kind) noexcept;
/// The opposite.
[[nodiscard]] bool makes_reals(std::string_view kind) noexcept;

/// Computed together with the operation before it.
[[nodiscard]] bool is_fused(std::string_view kind) noexcept;

}  // namespace quadrant::inline v0
