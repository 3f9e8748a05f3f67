// What lies between a layer and the next, if a channel may be scaled on the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"
#include "transforms/linear_layer.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// Where in a chain constants of one number a channel stand: along `axis`, counted from the end, of
/// tensors of at least `rank` axes; each of the first layer's channels is `repeat` in a row.
struct ChannelPlace {
  std::int64_t axis = -1;
  std::int64_t rank = 1;
  std::int64_t repeat = 1;
};

struct ChainLink {
  enum class Kind : std::uint8_t {
    relu,
    scaling,   ///< f(x / s) = f(x) / s for s > 0, whatever s is for each channel
    constant,  ///< the same once the constant that is operand `operand` is divided by s, too
    clip,      ///< Clip from 0 to `high`, which scales with its bound
  };
  Kind kind = Kind::scaling;
  NodeId node;
  std::uint32_t operand = 0;
  double high = 0;
  ChannelPlace place;
};

struct LayerChain {
  std::vector<ChainLink> links;
  NodeId next;       ///< the layer that reads the last link's result as its data
  ChannelPlace end;  ///< of what it reads
};

/// Goes from the result of `layer` to the next layer, through operations that scale. Where the
/// chain ends before, the reason names what ends it.
[[nodiscard]] OrReason<LayerChain> follow_chain(const Graph& graph, const LinearLayer& layer);

/// The constant of a link behind `first`: one number for each channel there.
[[nodiscard]] Expected<std::vector<double>> read_link(const Graph& graph, const LinearLayer& first,
                                                      const ChainLink& link);
/// Such numbers as a constant that broadcasts at `place`.
[[nodiscard]] Constant link_constant(const LinearLayer& first, const ChannelPlace& place,
                                     std::span<const double> values);

}  // namespace quadrant::inline v0
