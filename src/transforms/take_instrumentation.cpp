#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "ir/result_type.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::inline v0 {
namespace {

bool is_instrumentation(std::string_view kind) {
  return kind == ops::Stats::kind || kind == ops::StatsRef::kind || kind == ops::CoupledRef::kind;
}

std::array<float, 2> ends_of(const ops::Stats::Range& range) {
  return {static_cast<float>(range.min), static_cast<float>(range.max)};
}

Expected<TensorStatistics> statistics_of(const ops::Stats& stats) {
  TensorStatistics statistics;
  statistics.samples = 1;
  QUADRANT_TRY(const ops::Stats::Range layer, stats.layer());
  statistics.histogram.add(ends_of(layer));
  statistics.sum.add(ends_of(layer));
  QUADRANT_TRY(const auto by_axis, stats.by_axis());
  if (!by_axis) return statistics;
  ChannelTable& table = statistics.by_channel.emplace();
  table.axis = by_axis->axis;
  table.channels.resize(by_axis->ranges.size());
  for (std::size_t i = 0; i < table.channels.size(); ++i) {
    table.channels[i].add(ends_of(by_axis->ranges[i]));
  }
  return statistics;
}

class Taking {
 public:
  explicit Taking(Graph& graph) : graph_(graph) {}

  Expected<Instrumentation> run() {
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph_));
    // The operand of each is the value that is meant: those in front of it are gone already. What
    // may fail comes first.
    std::vector<std::pair<NodeId, TensorStatistics>> stats;
    for (const NodeId id : order) {
      const NodeRef node = graph_.ref(id);
      if (!is_instrumentation(node.kind())) continue;
      if (auto valid = detail::infer_results(node); !valid) {
        return fail(detail::at(node, std::move(valid).error()));
      }
      if (node.kind() != ops::Stats::kind) continue;
      QUADRANT_TRY(TensorStatistics statistics, statistics_of(ops::Stats{node}));
      stats.emplace_back(id, std::move(statistics));
    }
    auto next = stats.begin();
    for (const NodeId id : order) {
      const NodeRef node = graph_.ref(id);
      if (!is_instrumentation(node.kind())) continue;
      if (node.kind() == ops::Stats::kind) {
        take_stats(node, std::move(next++->second));
      } else if (node.kind() == ops::StatsRef::kind) {
        taken_.ungathered.push_back(
            left(node.operand(0), fmt::format("no statistics were gathered for stats_key '{}'",
                                              ops::StatsRef{node}.key())));
      } else {
        coupled_[ops::CoupledRef{node}.key()].push_back(node.operand(0));
      }
      graph_.replace_uses(node.result(), node.operand(0));
      graph_.erase(id);
    }
    take_couplings();
    return std::move(taken_);
  }

 private:
  void take_stats(NodeRef node, TensorStatistics&& statistics) {
    const auto [place, is_new] = taken_.statistics.values.try_emplace(
        std::string(graph_.value_name(node.operand(0))), std::move(statistics));
    if (!is_new) place->second.merge(statistics);
    taken_.statistics.samples = 1;
  }

  void take_couplings() {
    for (auto& [key, values] : coupled_) {
      std::ranges::sort(values);
      const auto twice = std::ranges::unique(values);
      values.erase(twice.begin(), twice.end());
      if (values.size() > 1) {
        taken_.couplings.push_back(std::move(values));
      } else {
        taken_.uncoupled.push_back(
            left(values.front(), fmt::format("no other value has the coupled_key '{}'", key)));
      }
    }
  }

  [[nodiscard]] LeftAlone left(Value value, std::string reason) const {
    return {std::string(graph_.value_name(value)), std::move(reason)};
  }

  Graph& graph_;
  std::map<std::string, std::vector<Value>, std::less<>> coupled_;
  Instrumentation taken_;
};

}  // namespace

Expected<Instrumentation> take_instrumentation(Graph& graph) { return Taking(graph).run(); }

}  // namespace quadrant::inline v0
