// One node more for a graph under construction, if it keeps the rules.
#pragma once

#include <optional>

#include "quadrant/ir/graph.hpp"

namespace fuzz {

/// Adds the node, with the types of its results filled in: what `infer_shapes` and `verify` do, for
/// the one node that is new. What is wrong by itself would hide all that comes after it: nothing is
/// added then.
std::optional<quadrant::NodeId> add_settled(quadrant::Graph& graph, quadrant::NodeSpec spec);

/// The same for a node that is there: where it breaks a rule, it goes. False then.
bool settle(quadrant::Graph& graph, quadrant::NodeId node);

}  // namespace fuzz
