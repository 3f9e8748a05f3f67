// Batch normalizations become part of the layers before them.
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"
#include "quadrant/transforms/moments.hpp"

namespace quadrant::inline v0 {

struct FoldOptions {
  /// Whether additions, subtractions, products and quotients with one constant a channel are folded
  /// too: what exporters leave of a normalization that they took apart.
  bool fold_channelwise = true;
};

struct FoldReport {
  struct Fold {
    std::string result;                   ///< name of what the layer makes now
    std::vector<std::string> operations;  ///< those that are gone, by the names of their results
    bool has_moments = false;             ///< `moments` knows the result
  };
  std::vector<Fold> folded;
  std::vector<LeftAlone> left;  ///< normalizations that stand as before
  MomentsTable moments;         ///< of the results of `folded`, where they are known
};

/// Folds each onnx.BatchNormalization in inference form, and with them runs of channelwise
/// constants, into the conv, conv_transpose, gemm, linear or matmul right before, if that has
/// constant weights and no other reader:
///
///   W <- W gamma / sqrt(var + epsilon),   b <- beta + (b - mean) gamma / sqrt(var + epsilon)
///
/// (arXiv 1806.08342, section 3.2.2; also the premise of arXiv 1906.04721). All of a run is
/// computed in double and rounded once, to the type of the weights, float32 or float64. The
/// layer's result takes the name of the last operation that is folded, so that readers, graph
/// outputs and statistics find it. A weight that others read too is copied; constants that nobody
/// reads any more are erased. A matrix product without a bias gets an addition behind it.
///
/// Moments are known:
///  - of a BatchNormalization: beta and |gamma|.
///  - of a run that begins with a shift, a product with positive constants, a product, a shift
///    (`(y - mean) * (1 / sigma) * gamma + beta`, each as add or subtract, multiply or divide):
///    constants of the last two. That the first two normalize is a conclusion from the form.
///  - behind either, with whatever constants follow taken into account.
/// They are not known of a run of one product and one addition, a = gamma / sigma and
/// b = beta - mean gamma / sigma: b is the mean only if the convolution's own mean is zero, and a
/// says nothing of gamma without sigma. Nor of a shift, a product and a shift: that tells the mean,
/// not the deviation.
///
/// The graph needs exclusive access. Errors: `invalid_model` for a cycle, or what a constant's file
/// says when it cannot be read; layers before it are folded then, and the graph is whole.
[[nodiscard]] Expected<FoldReport> fold_batch_norm(Graph& graph, const FoldOptions& options = {});

}  // namespace quadrant::inline v0
