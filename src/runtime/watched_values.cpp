#include "runtime/watched_values.hpp"

#include <map>
#include <ranges>
#include <string>

#include "ir/regions.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

Expected<WatchedValues> WatchedValues::find(const Graph& graph, std::span<const Value> watched) {
  WatchedValues found;
  QUADRANT_TRY(const Regions regions, Regions::find(graph));
  std::map<Value, std::size_t> places;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) places[{graph.inputs()[i]}] = i;
  for (std::size_t index = 0; index < watched.size(); ++index) {
    const Value value = watched[index];
    if (const Constant* constant = graph.constant(value.node)) {
      QUADRANT_TRY(Tensor tensor, Tensor::from_constant(*constant));
      found.constants_.emplace_back(std::move(tensor), index);
      continue;
    }
    if (regions.of(value.node) != Regions::model) continue;
    const auto [place, is_new] = places.try_emplace(value, found.computed_.size());
    if (is_new) found.computed_.push_back(value);
    const bool is_input = graph.kind(value.node) == ops::Input::kind;
    (is_input ? found.inputs_ : found.watched_).push_back({place->second, index});
  }
  return found;
}

Expected<void> WatchedValues::give_known(std::span<const Tensor> inputs,
                                         TensorObserver observe) const {
  for (const Watch& watch : inputs_) QUADRANT_CHECK(observe(watch.index, inputs[watch.source]));
  for (const auto& [tensor, index] : constants_) QUADRANT_CHECK(observe(index, tensor));
  return {};
}

Expected<void> WatchedValues::give_computed(FunctionRef<Expected<Tensor>(std::size_t)> tensor,
                                            TensorObserver observe) const {
  for (const Watch& watch : watched_) {
    QUADRANT_TRY(const Tensor given, tensor(watch.source));
    QUADRANT_CHECK(observe(watch.index, given));
  }
  return {};
}

Expected<std::vector<std::size_t>> keep_only(Graph& graph, std::span<const Value> outputs) {
  for (const NodeId output : std::vector(graph.outputs().begin(), graph.outputs().end())) {
    graph.erase(output);
  }
  for (const Value value : outputs) graph.add_output(std::string(graph.value_name(value)), value);
  const std::vector<NodeId> inputs(graph.inputs().begin(), graph.inputs().end());
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId node : std::views::reverse(order)) {
    const bool stays = graph.kind(node) == ops::Output::kind ||
                       graph.kind(node) == regions::input_kind;  // which a body has unread, too
    if (!stays && graph.uses(node).empty()) graph.erase(node);
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (graph.contains(inputs[i])) kept.push_back(i);
  }
  return kept;
}

}  // namespace quadrant::inline v0
