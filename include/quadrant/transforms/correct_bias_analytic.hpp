// Bias correction without data: what quantized weights shift on average is taken off the bias.
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/function_ref.hpp"
#include "quadrant/support/left_alone.hpp"
#include "quadrant/transforms/moments.hpp"

namespace quadrant::inline v0 {

/// What a weight will be once it is quantized, as real numbers again: a constant of its shape, of
/// float32 or float64. An empty constant: it is not quantized.
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
