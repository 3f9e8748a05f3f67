// Bias correction on data: the mean shift that quantization causes in a layer's results is
// subtracted from its bias.
#pragma once

#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

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
/// one constant a channel behind, which is the bias, while y is what that addition makes.
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

}  // namespace quadrant::inline v0
