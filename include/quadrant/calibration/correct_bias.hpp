// Corrections of a quantized model: of biases, by the mean shift of a layer's results on data; and
// of products, by two more of a small rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// Bias correction on data.

struct CorrectBiasOptions {
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress in layers; may be null
};

struct CorrectedBias {
  std::string layer;          ///< the name of its result in the float model
  std::vector<double> shift;  ///< E[y quantized] - E[y] of each output channel: taken off the bias
};

struct CorrectBiasReport {
  std::vector<CorrectedBias> corrected;  ///< in the order in which they were
  /// Such layers that keep their bias, or have none: by the names of their results.
  std::vector<LeftAlone> left;
};

/// For each layer of `quantized` that computes on codes, or with weights in codes, producers first,
/// each with the layers before it corrected already:
///
///   b <- b - (E[y quantized] - E[y])
///
/// for each output channel, over all elements of all samples; y is what the layer computes, before
/// an activation function and before it is rounded to codes (arXiv 1906.04721, section 4.2 and
/// appendix D; "empirical bias correction"). A bias in codes is rounded to a step; one of 8 or 16
/// bits whose range it leaves gets the range that it has then. Layers are conv, conv_transpose,
/// gemm, linear and addmm, with constant biases; and matmul and batch_matmul with an addition of
/// one constant a channel behind, which is the bias, while y is what that addition makes. What
/// `correct_low_rank` added belongs to the layer.
///
/// `quantized` is what `quantize` made of `real`: nodes that are in both have the same ids. `data`
/// is for `real`. The model runs once for each layer, as far as that layer: time grows with the
/// square of the number of layers. Needs exclusive access to `quantized`; after an error the layers
/// so far are corrected.
///
/// Errors: `usage` without samples; those of the runtime and the data, with the name of the sample.
[[nodiscard]] Expected<CorrectBiasReport> correct_bias(Graph& quantized, const Graph& real,
                                                       const Runtime& runtime, const DataSet& data,
                                                       const CorrectBiasOptions& options = {});

// Low-rank correction: what codes of a weight miss, in part, as two products of floats.

struct LowRankOptions {
  std::size_t rank = 8;  ///< of each correction, at most
  /// Of the inputs of the float model's layers, and what codes were to be near to; null: not known.
  const SecondMomentsTable* moments = nullptr;
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
};

struct LowRankCorrected {
  std::string weight;       ///< the name of its constant
  std::int64_t rank = 0;    ///< of its factors
  std::uint64_t bytes = 0;  ///< of both
  /// The mean of what codes add, squared, to a layer's results, as RoundedWeights has it; of a
  /// weight without moments, the sum of its errors, squared.
  double before = 0;
  double after = 0;  ///< less
};

struct LowRankReport {
  std::vector<LowRankCorrected> corrected;
  std::vector<LeftAlone> left;  ///< weights in codes that keep their errors, by name
};

/// For each weight in codes Q that layers x W multiply rows of floats by, the results become
///
///   x Q + (x A) B
///
/// with A B the matrix of at most `rank` that is nearest to W - Q, as the inputs weigh it: the
/// singular value decomposition of L^T (W - Q), L L^T = E[x x^T] (QERA, arXiv 2410.06040); where no
/// moments are known, of W - Q. A and B are constants of the type that the layer computes in,
/// rounded to it, the second one's rows as long as the first one's columns; layers that share a
/// weight share them. The sum gets the name of the result. Layers are matmul,
/// gemm, linear and addmm that sum over the data's last axis, with a weight of two axes.
///
/// A weight stays as it is where A and B take as many bytes as its floats do, which have no error,
/// and where the error does not fall. `quantized` is what `quantize` made of `real`, as for
/// `correct_bias`; exclusive access to it. n^3 multiplications, some ten times, for the lesser n of
/// a weight's two extents, and as many weights at a time as there are threads, each with doubles in
/// memory: three times as many as the weight has numbers, 4 n^2, and with moments 1.5 for each pair
/// of columns that these have. Where moments have a `room`, weights wait for a share of it. Errors:
/// `usage` for rank 0, `impossible` for weights that are not finite, and what reading and
/// `SecondMomentsTable::load` say; nothing of the weights from there on is changed then.
[[nodiscard]] Expected<LowRankReport> correct_low_rank(Graph& quantized, const Graph& real,
                                                       const LowRankOptions& options = {});

}  // namespace quadrant::inline v0
