// Scales and shifts that move between layers before weights are quantized, without data or with
// moments.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// Moments of values, known from the batch normalizations that made them.

/// Mean and standard deviation of each channel of a value, in the value's own unit. A batch
/// normalization makes them: beta and |gamma|, if the data are those it was trained with.
struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> deviation;  ///< of as many channels, not negative
  friend bool operator==(const ChannelMoments&, const ChannelMoments&) = default;
};

/// By the name of the value. The transformations that move values keep it up to date.
using MomentsTable = std::map<std::string, ChannelMoments, std::less<>>;

// Cross-layer equalization: channels of neighbouring layers get ranges of the same size.

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

// High-bias absorption: what a channel never falls below moves into the bias of the next layer.

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

// Migration: factors of channels are moved from what products read into their weights.

/// A value that products read, and that can be divided by one factor a channel: in the gains of a
/// normalization, a constant factor, or the output channels of a layer in front of it.
struct MigrationSite {
  std::string value;
  std::int64_t channels = 0;
  std::vector<std::string> weights;  ///< constants of all that read it: conv, gemm, matmul, ...
  std::string folded_into;           ///< the value that is divided where it is made

  friend bool operator==(const MigrationSite&, const MigrationSite&) = default;
};

struct MigrationSites {
  std::vector<MigrationSite> sites;  ///< in the order of the graph's nodes
  std::vector<LeftAlone> left;       ///< values that products read, but that cannot be divided
};

/// The factor s of each channel of a site's value.
struct Migration {
  std::string value;
  std::vector<double> factors;
};

/// Finds the values that `migrate` can divide. All readers of the value are products with constant
/// weights of f32 or f64 that nothing else reads; Q, K and V share their factors. Between the value
/// and what 1 / s is folded into there may be: sums with constants (which are divided, too),
/// factors and divisors, Relu, LeakyRelu, PRelu, Identity, poolings, transposes and reshapes
/// through which channels stay whole (heads, too), and products of computed matrices. Of two
/// computed factors one is followed. What is on the way has one reader. Constants of one number
/// stay, since runtimes know operations by them.
[[nodiscard]] MigrationSites find_migrations(const Graph& graph);

/// x / s, and W s: products compute what they did, up to rounding; to the bit where factors are
/// powers of two and nothing leaves the range of normal numbers. Values on the way are divided by
/// s, too. All is computed in double, and rounded once for each migration that a constant is part
/// of.
///
/// The graph needs exclusive access. Errors: `usage` for a value that is no site, for factors that
/// are not as many as its channels, not positive, or beyond 2^40; `impossible` where a constant
/// would not be finite; what reading constants says. Then the graph is as it was.
[[nodiscard]] Expected<void> migrate(Graph& graph, std::span<const Migration> migrations);

/// The half of it: weights are multiplied, nothing is divided. For a look at what weights become.
[[nodiscard]] Expected<void> multiply_weights(Graph& graph, std::span<const Migration> migrations);

// Bias correction without data: what quantized weights shift on average is taken off the bias.

/// What a weight will be once it is quantized, as floats again: a constant of its shape, of float32
/// or float64. An empty constant: it is not quantized.
using QuantizedWeight = FunctionRef<Expected<Constant>(Value weight)>;

struct BiasCorrectionReport {
  struct Correction {
    std::string layer;  ///< name of its result
    std::vector<double>
        shift;  ///< E[y quantized] - E[y] of each output channel: taken off the bias
    friend bool operator==(const Correction&, const Correction&) = default;
  };
  std::vector<Correction> corrected;
  /// Layers that keep their bias although their weights are quantized, or may be.
  std::vector<LeftAlone> left;
};

/// Sets, in the float graph, the biases that go with quantized weights W':
///
///   b <- b - alpha sum over the kernel of (W' - W) E[x]
///
/// (arXiv 1906.04721, section 4.2). E[x] of each input channel follows from `moments`: of the
/// result of a layer, taken as normally distributed, or of what Relu, Clip, and Min and Max with a
/// constant a channel make of it (expected_relu.hpp); on through Identity, Dropout, Flatten, global
/// average poolings, and sums of two such. Layers with another input are left. Zeros that a
/// convolution pads with are not accounted for, as in the paper: borders count as the inside does.
///
/// The weights themselves stay. `moments` are those of the graph as it is, after equalization and
/// absorption. Do this once: a second time would take the same off again.
///
/// The graph needs exclusive access. Errors: those of `quantized`; `usage` for a constant that it
/// gives of another shape or type; `invalid_model` for a cycle, or what a constant's file says when
/// it cannot be read. Then the graph is as it was.
[[nodiscard]] Expected<BiasCorrectionReport> correct_bias_analytic(Graph& graph,
                                                                   const MomentsTable& moments,
                                                                   QuantizedWeight quantized);

}  // namespace quadrant::inline v0
