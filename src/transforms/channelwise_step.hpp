// Operations that compute a x + b of each element, with one a and one b a channel.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/ops/normalization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "transforms/linear_layer.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

inline constexpr std::string_view batch_normalization_kind = ops::BatchNormalization::kind;

struct ChannelwiseStep {
  NodeId node;
  std::vector<double> factor;
  std::vector<double> shift;
  bool is_product = false;                ///< all shifts are zero because of what it is
  std::optional<ChannelMoments> moments;  ///< of the result, where the operation itself knows
};

/// The step that the reader `use` of (something like) the result of `layer` takes; why it takes
/// none. With `only_norms`, of batch normalizations alone.
[[nodiscard]] OrReason<ChannelwiseStep> read_step(const Graph& graph, const LinearLayer& layer,
                                                  const Use& use, bool only_norms);

}  // namespace quadrant::inline v0
