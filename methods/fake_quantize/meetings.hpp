// Branches that meet in concats.
#pragma once

#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::low_precision {

/// Branches that must have one scale: those of a concat whose result is data of a product, and of
/// others that share a branch with it.
struct Meeting {
  std::vector<NodeId> branches;  ///< `dequantize` nodes
  std::vector<NodeId> concats;
};

/// All meetings of a graph that was split, in the order of its nodes. Linear but for the sort.
[[nodiscard]] Expected<std::vector<Meeting>> find_meetings(const Graph& graph,
                                                           KernelsTarget target);

}  // namespace quadrant::inline v0::low_precision
