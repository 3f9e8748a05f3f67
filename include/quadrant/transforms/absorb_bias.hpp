// High-bias absorption: what a channel never falls below moves into the bias of the next layer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"
#include "quadrant/transforms/moments.hpp"

namespace quadrant::inline v0 {

/// The smallest value that was seen of each channel of a layer's result, before its activation, by
/// the name of that value in the graph as it is (equalization changes values).
using ChannelMinima = std::map<std::string, std::vector<double>, std::less<>>;

struct AbsorptionOptions {
  /// How many deviations below its mean a channel is taken to reach.
  double deviations = 3;
  /// From a calibration. A channel is then taken to reach down to what was seen, whatever the
  /// moments say; results are the same on those data. Null, or not of all values: the moments hold.
  const ChannelMinima* minima = nullptr;
};

struct AbsorptionReport {
  struct Pair {
    std::string first;             ///< name of the first layer's result
    std::string second;            ///< of the second's
    std::vector<double> absorbed;  ///< c of each channel between them
    bool is_exact = false;         ///< there is no Relu between, or c is from `minima`
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  std::vector<Pair> pairs;
  std::vector<LeftAlone>
      left;  ///< first layers with a channel to absorb, or not known to have none
  /// Why nothing can be absorbed in this model, and what to do; empty where something was known.
  std::string obstacle;
};

/// For each layer whose result has moments, or minima, and the layer behind it, with nothing
/// between or a Relu, and perhaps a Min with constants (equalize makes one of a ReLU6), which c is
/// no larger than and which falls by c:
///
///   c = max(0, mean - 3 deviation),   b1 <- b1 - c,   b2 <- b2 + sum over the kernel of W2 c
///
/// (arXiv 1906.04721, section 4.1.3). The model computes the same as long as the first layer's
/// result is at least c; by moments this is so for 99.87 % of a normal distribution, and the others
/// change results. `moments` of the first result fall by c.
///
/// Where a convolution pads its input with zeros, the kernel's sum is smaller at the borders, and
/// no bias is right for all positions: unless c is zero such layers are left, and so are
/// conv_transpose and convolutions behind a padding operation.
///
/// The graph needs exclusive access. Errors: `usage` for a negative number of deviations,
/// `invalid_model` for a cycle, or what a constant's file says when it cannot be read; the pairs
/// before it are absorbed then, and the graph is whole.
[[nodiscard]] Expected<AbsorptionReport> absorb_high_biases(Graph& graph, MomentsTable& moments,
                                                            const AbsorptionOptions& options = {});

}  // namespace quadrant::inline v0
