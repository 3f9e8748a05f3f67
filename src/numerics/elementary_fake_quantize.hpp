// `fake_quantize` in elementary operators, for formats that have none like it.
#pragma once

#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Adds operators that compute what `node`, a `fake_quantize`, does, in the order of
/// numerics/fake_quantize.hpp, so that each rounds as there: Sub, Div, Mul, Round, Div, Mul, Add,
/// and Where for what lies outside of the interval; half floats in float32, between casts. Returns
/// them in an order in which they can be computed. The last one's result is that of the node, which
/// stays, and the results are called after the node's.
///
/// `impossible` for what is no float, and for bounds whose shape is not known where it counts;
/// `invalid_model` for bounds that do not go with X.
[[nodiscard]] Expected<std::vector<NodeId>> add_elementary_fake_quantize(Graph& graph, NodeId node);

}  // namespace quadrant::inline v0
