// Divides a model between the two halves of a runtime.
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/targets/parameters.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

/// Operations that one half computes as a whole.
struct Subnet {
  bool is_first = false;      ///< of the profile's `first`, else of its `second`
  std::vector<NodeId> nodes;  ///< in topological order
  /// Parameters that its operations read, directly or through what is made of parameters alone. One
  /// that several subnets read counts for the first of them.
  ParameterTotals parameters;
};

/// Every operation that depends on an input is in one subnet; `quantize`, `dequantize` and
/// `storage_cast` are in none: they say how a value is represented. All nodes of a subnet go to the
/// same half and are connected by edges among themselves, and no path leaves a subnet and comes
/// back: the subnets can be computed one after the other, in the order in which they are returned.
/// `order`: topological; `parameters`: of this graph. Linear, but for looking up kinds.
///
/// How: an operation's level is the number of changes of half on the path to it that has the most.
/// A subnet is a connected part of a level. Levels never fall along an edge, so a path that leaves
/// one cannot return. Fewer subnets may be possible.
[[nodiscard]] std::vector<Subnet> divide(const GraphView& graph, const std::vector<NodeId>& order,
                                         const SubnetSplit& split,
                                         const std::vector<Parameter>& parameters);

}  // namespace quadrant::inline v0
