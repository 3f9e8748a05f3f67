// Layers that compute on codes, or with weights in codes, and where their biases are.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

struct BiasLayer {
  NodeId node;  ///< of which the results are compared: it adds the bias. Not valid: there is none
  NodeId corrected;  ///< whose results those are now: `node`, or what a correction of low rank adds
  NodeId bias;       ///< a constant, of codes or of float32, that nothing else reads
  std::int64_t channel_axis = 0;  ///< of the result; counted from the end where negative
};

/// Of a node that computes a sum of products of which the data or the weight are codes; empty for
/// another.
[[nodiscard]] std::optional<BiasLayer> bias_layer(const Graph& graph, NodeId node);

}  // namespace quadrant::inline v0
