// A node that others take the place of.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

/// Adds a node of one operand and one result, to be called after the value `of`.
Value add_cast(Graph& graph, std::string_view kind, Value operand, std::string_view of,
               std::string result, TensorType type);

/// `made` takes the place and the names of `node`, which has one result, and of that; what is then
/// not read goes.
void put_in_place(Graph& graph, NodeId node, Value made);

}  // namespace quadrant::inline v0
