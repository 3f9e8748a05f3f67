// Transforms that prepare a model for quantization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/transforms/equalize.hpp"

namespace quadrant::inline v0 {

// Open extents of a model's inputs become fixed ones.

/// Gives inputs, by name, these shapes, and all that follows from them: types of results are
/// inferred anew. For formats and compilers that want static shapes. Linear in the graph.
///
/// `usage` for a name that is no input's, naming the inputs, and for a shape that contradicts what
/// the model states of the input; `invalid_model`, with the node, where the model cannot have such
/// an input: operands that do not fit together then, or another extent that the model states. After
/// an error the graph's types are half inferred: it is of no use any more.
[[nodiscard]] Expected<void> fix_shapes(Graph& graph, const std::map<std::string, Shape>& shapes);

// Statistics and couplings that a model carries, taken out of it.

struct Instrumentation {
  /// What each `stats` says, under the name of the value that it is about: the ends of its ranges,
  /// and nothing of what lies between. Of several for one value, all.
  StatisticsTable statistics;
  /// Values that share a key of `coupled_ref`, two at least, by the keys: QuantizeOptions's
  /// `couplings`.
  std::vector<std::vector<Value>> couplings;
  /// Each `stats_ref`: its statistics were not gathered (calibration/calibrate.hpp does).
  std::vector<LeftAlone> ungathered;
  /// Each `coupled_ref` whose key no other value has.
  std::vector<LeftAlone> uncoupled;
};

/// Removes each `stats`, `stats_ref` and `coupled_ref`: readers of its result read its operand.
/// What they said is the result.
///
/// Linear, but for the order of keys and names. The graph needs exclusive access; it stays as it
/// was if this fails: `invalid_model` for attributes that `verify` refuses, and for a cycle.
[[nodiscard]] Expected<Instrumentation> take_instrumentation(Graph& graph);

// Simulated quantization becomes casts: what training knew of ranges, in types.
//
//   const_fake_quant(%x)  ->  dequantize(quantize(%x) : codes)
//
// From here on it is a model with explicit quantization, as other tools write it: casts may move,
// methods/qdq_fusion.hpp makes operations on codes of it, and what has none stays float.

struct ConvertedFakeQuants {
  std::int64_t converted = 0;
  /// Those that stand as before, with the reason: bounds that are computed while the model runs,
  /// constants of more than 16 bits, an axis of a value of unknown rank.
  std::vector<LeftAlone> left;
};

/// Each `const_fake_quant`, and each `fake_quant` with constant bounds, becomes a `quantize` to
/// numerics/fake_quant_type.hpp's type and a `dequantize`, which takes over the name; of a
/// constant, a constant of codes, computed when it is read, and a `dequantize`. What is then not
/// read is removed. The interpreter computes the same bits before and after.
///
/// Linear. The graph needs exclusive access. Errors: what a constant's file says when its bounds
/// cannot be read, attributes that `verify` refuses; the graph is whole then.
[[nodiscard]] Expected<ConvertedFakeQuants> convert_fake_quant(Graph& graph);

// A bias for each layer that is its own.

struct OwnBiasesOptions {
  /// Layers without a bias get one of zeros: something to be corrected.
  bool add_missing = false;
};

struct OwnBiasesReport {
  std::size_t copied = 0;
  std::size_t added = 0;
};

/// Copies constant biases that several conv, conv_transpose, gemm and linear read, so that each can
/// be quantized in the scale of its own products. A constant is not copied for readers of other
/// kinds. Results are the same.
///
/// The graph needs exclusive access. Ids of nodes that get a new operand change.
OwnBiasesReport give_own_biases(Graph& graph, const OwnBiasesOptions& options = {});

// Batch normalizations become part of the layers before them.

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
/// computed in double and rounded once, to the type of the weights, float32 or float64. The layer's
/// result takes the name of the last operation that is folded, so that readers, graph outputs and
/// statistics find it. A weight that others read too is copied; constants that are not read any
/// more are erased. A matrix product without a bias gets an addition behind it.
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

// Rotation: what a transformer adds up from block to block, in other coordinates, in which no
// channel stands out.

struct RotationReport {
  struct Stream {
    std::string value;  ///< one of its values
    std::int64_t channels = 0;
    std::int64_t block = 0;   ///< so many neighbouring channels are mixed
    std::size_t makers = 0;   ///< tables, weights and other constants that the stream comes from
    std::size_t readers = 0;  ///< products that read it
    friend bool operator==(const Stream&, const Stream&) = default;
  };
  std::vector<Stream> rotated;
  std::vector<LeftAlone> left;  ///< a normalized value of each stream that cannot be rotated
};

/// x becomes x H in each stream that has norms, sums and products alone (QuaRot, arXiv 2404.00456;
/// H = H^T = H^-1, with blocks of the largest power of four that divides the channels, 16 at
/// least):
///
///   what makes it    a table that is looked up, the output channels of a product with its bias,
///                    constants that are added: times H from the right
///   norms            of the last axis, as one operation or taken apart. H keeps lengths, and a row
///                    of equal numbers, so means and mean squares stay, and centering commutes with
///                    it. The scale g goes into what reads the norm, and so does its shift s
///   what reads it    products with constant weights: H diag(g) W, and s W is added to the bias; a
///                    product that has none gets an addition behind it
///
/// The model computes the same, up to rounding: nothing is divided. That is rounding of mixed
/// channels, as large as the largest: where a scale makes a channel small that is k times the
/// others, these lose as if their last bits were k times as large. Scales and shifts are one number
/// a channel, or one for all. Constants that others read, too (an embedding that is read transposed
/// for the results), are copied. On the way there may be casts, and whatever moves whole rows:
/// transposes, reshapes, lookups, slices, concatenations. Anything else that makes or reads a value
/// of the stream, a graph's input or output among them, and a norm that a sum reads, leaves all of
/// it, with the first reason that is met, once. So does a constant that is not finite.
///
/// Time: n log n in the size of the graph, and for each weight of c channels log c additions an
/// element. Memory: one stream's new constants, beside the old ones, and the largest in double.
///
/// The graph needs exclusive access; values keep their names, but mean x H. Errors: what reading
/// constants says is among what is left.
[[nodiscard]] Expected<RotationReport> rotate_streams(Graph& graph);

}  // namespace quadrant::inline v0
