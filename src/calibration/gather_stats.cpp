#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "ir/put_in_place.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<std::vector<WatchedValue>> values_at(const Graph& graph,
                                              const GatherStatsOptions& options) {
  std::vector<WatchedValue> points;
  std::set<std::string, std::less<>> keys;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::StatsRef::kind) continue;
    std::string key = ops::StatsRef{graph.ref(node)}.key();
    const auto axis = options.axes.find(key);
    points.push_back(
        {{node}, axis == options.axes.end() ? std::nullopt : std::optional(axis->second)});
    keys.insert(std::move(key));
  }
  for (const auto& [key, axis] : options.axes) {
    if (keys.contains(key)) continue;
    return fail(ErrorCode::usage,
                fmt::format("an axis for stats_key '{}', which no stats_ref has", key));
  }
  return points;
}

// Adds what was seen along the axis; false where there is nothing to add.
bool add_axis(const ChannelTable& channels, Attributes& attributes) {
  if (channels.is_varying || channels.channels.empty()) return false;
  std::vector<double> ends;
  ends.reserve(channels.channels.size() * 2);
  for (const ChannelStatistics& channel : channels.channels) {
    if (channel.count == 0) return false;
    ends.push_back(channel.min);
    ends.push_back(channel.max);
  }
  attributes.set("axis_stats", std::move(ends));
  attributes.set("axis", channels.axis);
  return true;
}

}  // namespace

Expected<GatheredStats> gather_stats(Graph& graph, const Runtime& runtime, const DataSet& data,
                                     const GatherStatsOptions& options) {
  QUADRANT_TRY(const std::vector<WatchedValue> points, values_at(graph, options));
  GatheredStats result;
  if (points.empty()) return result;
  QUADRANT_TRY(const StatisticsTable table, calibrate(graph, runtime, data,
                                                      {.values = points,
                                                       .histograms = false,
                                                       .executor = options.executor,
                                                       .sink = options.sink}));
  for (const WatchedValue& point : points) {
    const NodeId node = point.value.node;
    std::string name(graph.value_name(point.value));
    const TensorStatistics* const seen = table.find(name);
    if (seen == nullptr || seen->histogram.finite_count() == 0) {
      result.left.push_back({std::move(name), "the samples had no finite element of it"});
      continue;
    }
    Attributes attributes{
        {"layer_stats", std::vector<double>{seen->histogram.min(), seen->histogram.max()}}};
    if (seen->by_channel && !add_axis(*seen->by_channel, attributes)) {
      result.left.push_back(
          {name,
           "its channels were not as many in all samples, or one had no finite number: no "
           "axis_stats"});
    }
    const Value made = add_cast(graph, ops::Stats::kind, graph.operands(node)[0], name, name,
                                graph.type(point.value));
    for (const auto& [key, value] : attributes) graph.set_attribute(made.node, key, value);
    put_in_place(graph, node, made);
    ++result.gathered;
  }
  return result;
}

}  // namespace quadrant::inline v0
