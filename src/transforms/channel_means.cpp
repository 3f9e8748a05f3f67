#include "transforms/channel_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/windows.hpp"
#include "numerics/clamp_bounds.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/channels.hpp"
#include "transforms/expected_relu.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

// What Max with `low`, then Min with `high`, leaves.
void narrow(ChannelDistribution& values, std::size_t channel, double low, double high) {
  for (double* end : {&values.low[channel], &values.high[channel]}) {
    *end = std::min(std::max(*end, low), high);
  }
}

ChannelDistribution plain(const ChannelDistribution& values, std::vector<double> mean) {
  return {.mean = std::move(mean),
          .deviation = {},
          .low = {},
          .high = {},
          .axis = values.axis,
          .rank = values.rank};
}

class MeanWalk {
 public:
  void set(const LinearLayer& layer, const ChannelMoments& moments) {
    const auto channels = static_cast<std::size_t>(layer.layout.outputs());
    if (moments.mean.size() != channels || moments.deviation.size() != channels) return;
    known_.insert_or_assign(layer.result,
                            ChannelDistribution{.mean = moments.mean,
                                                .deviation = moments.deviation,
                                                .low = std::vector<double>(channels, -unbounded),
                                                .high = std::vector<double>(channels, unbounded),
                                                .axis = layer.result_axis,
                                                .rank = layer.rank});
  }

  void visit(const NodeRef& node) {
    if (node.operands().empty() || known_.contains(node.result())) return;
    std::optional<ChannelDistribution> result =
        node.kind() == ops::Add::kind ? sum(node) : unary(node);
    if (result) known_.insert_or_assign(node.result(), *std::move(result));
  }

  std::unordered_map<Value, ChannelDistribution> take() && { return std::move(known_); }

 private:
  [[nodiscard]] const ChannelDistribution* find(Value value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] std::optional<ChannelDistribution> sum(const NodeRef& node) const {
    const ChannelDistribution* a = find(node.operand(0));
    const ChannelDistribution* b = find(node.operand(1));
    if (!a || !b || a->axis != b->axis || a->rank != b->rank || a->mean.size() != b->mean.size()) {
      return std::nullopt;
    }
    std::vector<double> mean = a->means();
    const std::vector<double> other = b->means();
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += other[c];
    return plain(*a, std::move(mean));
  }

  [[nodiscard]] std::optional<ChannelDistribution> unary(const NodeRef& node) const {
    const std::string_view kind = node.kind();
    if (kind == ops::Min::kind || kind == ops::Max::kind) return bounded_by_constant(node);
    const ChannelDistribution* x = find(node.operand(0));
    if (!x) return std::nullopt;
    if (kind == ops::Relu::kind || kind == ops::Clip::kind) {
      const std::optional<ClampBounds> limits = clamp_bounds(node);
      return limits ? bounded(*x, limits->low, limits->high) : std::nullopt;
    }
    // Dropout in training keeps the mean, too.
    if (kind == ops::Identity::kind || kind == ops::Dropout::kind) return *x;
    const bool is_second_axis = x->axis == 1 - x->rank;
    if (kind == ops::GlobalAveragePool::kind && is_second_axis) return plain(*x, x->means());
    if (kind == ops::Flatten::kind && is_second_axis &&
        node.attribute_or<std::int64_t>("axis", 1) == 1) {
      ChannelDistribution flat = plain(*x, x->means());
      flat.axis = -1;
      flat.rank = 2;
      return flat;
    }
    return std::nullopt;
  }

  [[nodiscard]] static std::optional<ChannelDistribution> bounded(ChannelDistribution values,
                                                                  double low, double high) {
    if (values.deviation.empty()) return std::nullopt;
    for (std::size_t c = 0; c < values.mean.size(); ++c) narrow(values, c, low, high);
    return values;
  }

  [[nodiscard]] std::optional<ChannelDistribution> bounded_by_constant(const NodeRef& node) const {
    if (node.operands().size() != 2) return std::nullopt;
    for (const std::size_t i : {0U, 1U}) {
      const ChannelDistribution* x = find(node.operand(i));
      const Constant* limit = node.operand_constant(1 - i);
      if (!x || !limit || x->deviation.empty()) continue;
      const auto channels = static_cast<std::int64_t>(x->mean.size());
      if (!is_wide_float(limit->element()) || !is_channelwise(*limit, channels, x->axis, x->rank)) {
        continue;
      }
      const Expected<std::vector<double>> limits = read_channels(*limit, channels);
      if (!limits) continue;
      ChannelDistribution result = *x;
      const bool is_min = node.kind() == ops::Min::kind;
      for (std::size_t c = 0; c < limits->size(); ++c) {
        narrow(result, c, is_min ? -unbounded : (*limits)[c], is_min ? (*limits)[c] : unbounded);
      }
      return result;
    }
    return std::nullopt;
  }

  std::unordered_map<Value, ChannelDistribution> known_;
};

}  // namespace

std::vector<double> ChannelDistribution::means() const {
  if (deviation.empty()) return mean;
  std::vector<double> result = mean;
  for (std::size_t c = 0; c < result.size(); ++c) {
    // max(low, x) - max(0, x - high), and max(low, x) is low + max(0, x - low).
    if (low[c] != -unbounded) result[c] = low[c] + expected_relu(mean[c] - low[c], deviation[c]);
    if (high[c] != unbounded) result[c] -= expected_relu(mean[c] - high[c], deviation[c]);
  }
  return result;
}

std::unordered_map<Value, ChannelDistribution> find_distributions(
    const Graph& graph, std::span<const NodeId> order, std::span<const LinearLayer> layers,
    const MomentsTable& moments) {
  MeanWalk walk;
  for (const LinearLayer& layer : layers) {
    const auto found = moments.find(graph.value_name(layer.result));
    if (found != moments.end()) walk.set(layer, found->second);
  }
  for (const NodeId node : order) walk.visit(graph.ref(node));
  return std::move(walk).take();
}

}  // namespace quadrant::inline v0
