#include "transforms/layer_pairs.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

namespace {

// Why the channels of `first` are not what `second` sums over.
OrReason<void> check_channels(const Graph& graph, const LinearLayer& first, const LayerChain& chain,
                              const LinearLayer& second) {
  const std::string name(graph.value_name(second.result));
  if (first.element != second.element) {
    return because(fmt::format("'{}' has weights of another type", name));
  }
  if (chain.end.axis != second.data_axis) {
    return because(fmt::format("'{}' sums over another axis", name));
  }
  if (first.layout.outputs() * chain.end.repeat != second.layout.inputs()) {
    return because(fmt::format("'{}' has {} input channels, not {}", name, second.layout.inputs(),
                               first.layout.outputs() * chain.end.repeat));
  }
  return {};
}

}  // namespace

Expected<LayerPairs> find_pairs(const Graph& graph) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  LayerPairs result;
  std::unordered_map<NodeId, std::size_t> positions;
  std::unordered_map<NodeId, std::string> refused;
  for (const NodeId node : order) {
    if (!is_linear(graph.kind(node))) continue;
    OrReason<LinearLayer> layer = find_layer(graph, node);
    if (layer) {
      positions.emplace(node, result.layers.size());
      result.layers.push_back(*layer);
    } else {
      result.left.push_back({std::string(graph.value_name({node})), layer.error()});
      refused.emplace(node, std::move(layer).error());
    }
  }
  for (std::size_t first = 0; first < result.layers.size(); ++first) {
    const LinearLayer& layer = result.layers[first];
    const auto leave = [&](std::string reason) {
      result.left.push_back({result_name(graph, layer), std::move(reason)});
    };
    OrReason<LayerChain> chain = follow_chain(graph, layer);
    if (!chain) {
      leave(std::move(chain).error());
      continue;
    }
    const auto second = positions.find(chain->next);
    if (second == positions.end()) {
      leave(fmt::format("the layer behind it, '{}', is left: {}", graph.value_name({chain->next}),
                        refused.at(chain->next)));
      continue;
    }
    const OrReason<void> fits = check_channels(graph, layer, *chain, result.layers[second->second]);
    if (!fits) {
      leave(fits.error());
      continue;
    }
    result.pairs.push_back({first, second->second, *std::move(chain)});
  }
  return result;
}

std::string result_name(const Graph& graph, const LinearLayer& layer) {
  return std::string(graph.value_name(layer.result));
}

}  // namespace quadrant::inline v0
