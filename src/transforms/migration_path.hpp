// The way from what a product reads back to what one factor a channel can be folded into.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "transforms/channel_axes.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// A change that divides a value by s, a number a channel.
struct MigrationFold {
  enum class Kind : std::uint8_t {
    divide,    ///< the constant that is operand `operand` by s
    multiply,  ///< that constant, a divisor, with s
    layer,     ///< the output channels of a layer: its weights, and the bias that is its operand
  };
  Kind kind = Kind::divide;
  NodeId node;
  std::uint32_t operand = 0;
  ChannelAxes channels;  ///< where they lie in that constant
};

/// What to fold into so that `value`, which has the channels, is divided by s and nothing else
/// changes but what lies on the way; the last one is where the way ends. Or what ends it.
[[nodiscard]] OrReason<std::vector<MigrationFold>> find_folds(const Graph& graph, Value value,
                                                              ChannelAxes channels);

}  // namespace quadrant::inline v0
