// Cross-layer equalization: channels of neighbouring layers get ranges of the same size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"
#include "quadrant/transforms/moments.hpp"

namespace quadrant::inline v0 {

/// What becomes of a Clip from 0 to a bound (ReLU6) between two layers.
enum class ClipTreatment : std::uint8_t {
  per_channel,  ///< a Relu, and a Min with the bound divided by each channel's s: exact
  as_relu,      ///< a Relu: outputs change where the bound was reached
  leave,        ///< the layers are not equalized
};

struct EqualizationOptions {
  ClipTreatment clip = ClipTreatment::per_channel;
  /// Rounds end when none has changed any s by more than this factor, less 1.
  double tolerance = 1e-4;
  std::uint32_t max_rounds = 200;  ///< at least 1
  /// No s, over all rounds, is larger than this or smaller than its inverse; at least 1. Where
  /// channels differ by more, activations might leave the range of float32.
  double largest_scale = 0x1p40;
};

struct EqualizationReport {
  struct Pair {
    std::string first;           ///< name of the first layer's result
    std::string second;          ///< of the second's
    std::vector<double> scales;  ///< s of each channel between them: they are smaller by that
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  std::vector<Pair> pairs;
  /// Layers whose results could not be equalized with what comes behind them.
  std::vector<LeftAlone> left;
  std::vector<std::string> clips_per_channel;  ///< results of Clips that are Relu and Min now
  /// Results of Clips that are Relus now: the model computes something else where they clipped.
  std::vector<std::string> clips_dropped;
  std::uint32_t rounds = 0;
  double last_change = 0;  ///< the largest of the last round, as `tolerance`
  bool converged = true;
};

/// Equalizes the weights of all pairs of layers that are legal, in rounds, until nothing changes
/// any more. For channel i between two layers, with ranges r1 = max |W1[i, :]| and r2 = max |W2[:,
/// i]|:
///
///   s = sqrt(r1 / r2),   W1 <- W1 / s,   b1 <- b1 / s,   W2 <- W2 s        (both ranges: sqrt(r1
///   r2))
///
/// (arXiv 1906.04721, section 4.1 and appendix A). Where the second layer is depthwise and a third
/// follows, all three at a time, with g = cbrt(r1 r2 r3), s12 = r1 / g, s23 = g / r3:
///
///   W1, b1 / s12,   W2 s12 / s23,   b2 / s23,   W3 s23                                  (all
///   ranges: g)
///
/// s is 1 for channels in which a range is zero. It is any real number, not a power of two: results
/// change by rounding, up to about 1e-6 of their size. Scales of all rounds are multiplied in
/// double, and each weight is rounded once, at the end.
///
/// A pair is legal if nothing else reads what lies between (no other operation, no graph output, no
/// subgraph), the weights are finite constants of f32 or f64, and there is nothing between but
/// operations that scale: Relu, LeakyRelu, PRelu; Clip from 0, as `options.clip` says; poolings;
/// Identity, Dropout; padding with zeros; sums, differences, products, quotients, Min and Max with
/// constants, one a channel; Flatten and Reshape before a matrix product. Weights that others read
/// too are copied.
///
/// `moments` of the layers' results are divided by s as well.
///
/// The graph needs exclusive access. Errors: `usage` for options that make no sense,
/// `invalid_model` for a cycle, or what a constant's file says when it cannot be read. Then the
/// graph is as it was.
[[nodiscard]] Expected<EqualizationReport> equalize(Graph& graph, MomentsTable& moments,
                                                    const EqualizationOptions& options = {});

}  // namespace quadrant::inline v0
