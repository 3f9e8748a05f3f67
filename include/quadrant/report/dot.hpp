// A decision as a picture: Graphviz's DOT language.
#pragma once

#include <string>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// The graph with its nodes coloured by state: what was selected, which Consumers got what they
/// asked for, what stays float. Bold edges carry quantized values, and say what quantizing those
/// gains; the form that each was selected in stands in its node. Constants that play no part
/// (biases, shapes) are left out.
///
/// `dot -Tsvg plan.dot -o plan.svg` draws it.
[[nodiscard]] std::string print_dot(const GraphView& graph, const Analysis& analysis);

}  // namespace quadrant::inline v0
