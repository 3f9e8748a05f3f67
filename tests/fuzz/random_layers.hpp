// Layers as models have them, with parameters that fit what they read.
#pragma once

#include <vector>

#include "quadrant/ir/graph.hpp"
#include "random_values.hpp"

namespace fuzz {

/// Adds one that reads `data`, real numbers of known rank: a product with its weights, a
/// normalization, an activation, casts to codes and back, and so on. Returns the values that it
/// makes; none where it would break a rule.
std::vector<quadrant::Value> add_random_layer(quadrant::Graph& graph, RandomValues& random,
                                              quadrant::Value data);

}  // namespace fuzz
