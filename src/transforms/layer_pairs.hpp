// The layers of a graph and what connects them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "transforms/layer_chain.hpp"
#include "transforms/linear_layer.hpp"

namespace quadrant::inline v0 {

struct LayerPair {
  std::size_t first = 0;  ///< into `LayerPairs::layers`
  std::size_t second = 0;
  LayerChain chain;
};

struct LayerPairs {
  std::vector<LinearLayer> layers;  ///< in topological order
  std::vector<LayerPair> pairs;     ///< by `first`; each layer is the first, and the second, of one
  std::vector<LeftAlone> left;      ///< what is no layer, and layers that begin no pair
};

/// Finds all pairs of layers with nothing between that does not scale; reads no weights.
[[nodiscard]] Expected<LayerPairs> find_pairs(const Graph& graph);

/// The name of what the layer makes.
[[nodiscard]] std::string result_name(const Graph& graph, const LinearLayer& layer);

}  // namespace quadrant::inline v0
