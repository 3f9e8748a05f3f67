// What follows from the moments of some values for the means of others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "transforms/linear_layer.hpp"

namespace quadrant::inline v0 {

/// A normal distribution for each channel, between bounds; or means of something else.
struct ChannelDistribution {
  std::vector<double> mean;
  std::vector<double> deviation;  ///< empty: not normal, and without bounds
  std::vector<double> low;
  std::vector<double> high;
  std::int64_t axis = -1;  ///< of the channels, counted from the end
  std::int64_t rank = 1;   ///< at least

  /// Of what lies between the bounds.
  [[nodiscard]] std::vector<double> means() const;
};

/// Distributions of values, as far as they follow from the results of `layers` whose names
/// `moments` has.
[[nodiscard]] std::unordered_map<Value, ChannelDistribution> find_distributions(
    const Graph& graph, std::span<const NodeId> order, std::span<const LinearLayer> layers,
    const MomentsTable& moments);

}  // namespace quadrant::inline v0
