// A graph of the library that says what another IR says: for what runs models and reports on them.
#pragma once

#include <functional>

#include "quadrant/ir/attribute.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// All attributes of a node, which a GraphView is asked for one by one.
using AttributesOf = std::function<Attributes(NodeId node)>;

/// The same nodes, in an order of making, with the same names, types, contents (which are shared)
/// and rows of operations of its own. Calibration, second moments, comparisons, sensitivity and
/// reports take it, with a `Runtime` that knows the operations; what they find is by names of
/// values. Plans are made on `view`, which knows what the IR can hold.
///
/// `attributes_of`: null if no node has any. `invalid_model`: a cycle, or two values of one
/// name. Linear; rows and sources of constants must outlive it as they do `view`.
[[nodiscard]] Expected<Graph> to_graph(const GraphView& view, const AttributesOf& attributes_of);

}  // namespace quadrant::inline v0
