#include "reasons.hpp"

#include <algorithm>
#include <array>

#include "io/tflite/rules.hpp"

namespace quadrant::test {
namespace {

constexpr std::string_view control_flow = "onnx.If onnx.Loop onnx.Scan";
constexpr std::string_view no_tensors =
    "onnx.ConcatFromSequence onnx.ImageDecoder onnx.Optional* onnx.RegexFullMatch onnx.SequenceAt "
    "onnx.SequenceConstruct onnx.SequenceEmpty onnx.SequenceErase onnx.SequenceInsert "
    "onnx.SequenceLength onnx.SplitToSequence onnx.String* onnx.TfIdfVectorizer";
constexpr std::string_view chance = "onnx.Bernoulli onnx.Multinomial onnx.Random*";
constexpr std::string_view signals =
    "onnx.BlackmanWindow onnx.HammingWindow onnx.HannWindow onnx.MelWeightMatrix onnx.STFT";
constexpr std::string_view rare_layers =
    "onnx.CausalConvWithState onnx.DeformConv onnx.LinearAttention onnx.MaxRoiPool";
constexpr std::string_view computed_functions =
    "onnx.Attention onnx.Det onnx.NegativeLogLikelihoodLoss onnx.RotaryEmbedding "
    "onnx.SoftmaxCrossEntropyLoss";
constexpr std::string_view other_forms = "onnx.Constant onnx.Reshape";
/// Of ONNX Runtime's domain, on codes.
constexpr std::string_view own_codes =
    "onnx.com.microsoft::DynamicQuantizeMatMul onnx.com.microsoft::MatMulInteger* "
    "onnx.com.microsoft::QGemm onnx.com.microsoft::QLinear*";
constexpr std::string_view own_storages =
    "onnx.com.microsoft::DequantizeLinear onnx.com.microsoft::QuantizeLinear";
constexpr std::string_view integers =
    "onnx.ConvInteger onnx.DynamicQuantizeLinear onnx.MatMulInteger onnx.QLinearConv "
    "onnx.QLinearMatMul";

/// Codes may always go where elements go: a move that is not fused needs a reason of its own.
bool is_no_move(const Row& row) { return row.operation->family != Family::move; }

bool is_fused(const Row& row) {
  using enum Column;
  constexpr std::array targets{fused_tflite, fused_webnn, fused_onnx, fused_openvino};
  return std::ranges::any_of(targets,
                             [&](Column target) { return row[target].state != State::empty; });
}

bool has_no_weight(const Row& row) {
  const Family family = row.operation->family;
  return row.operation->product == nullptr && row.operation->move == nullptr &&
         family != Family::product && family != Family::recurrent;
}

bool has_no_integer_kernel(const Row& row) {
  const tflite::Rule* const rule = tflite::find_rule(row.operation->kind);
  return rule == nullptr || rule->codes == tflite::Codes::none;
}

std::vector<Reason> all_reasons() {
  using enum Column;
  const std::vector schemes{weight_only, static_affine, fused_tflite,
                            fused_webnn, fused_onnx,    fused_openvino};
  const std::vector other_files{tflite, openvino, mlir};
  const std::vector all_but_onnx{shapes, interpreter, tflite, openvino, mlir};
  return {
      // --- what ONNX files carry -----------------------------------------------------------------
      {"Subgraphs are carried through ONNX files as they came. Nothing looks inside.",
       {{all_but_onnx, "onnx.SequenceMap"}}},
      {"What is in the bodies is quantized; what comes out of them has the types that the file "
       "states.",
       {{{shapes}, control_flow}}},
      {"Not yet: bodies in other files than ONNX's.", {{other_files, control_flow}}},
      {"Sequences, optional values, strings and images are no tensors of numbers: carried through "
       "ONNX files.",
       {{all_but_onnx, no_tensors}}},
      {"Results of chance: no two runtimes would give the same.", {{all_but_onnx, chance}}},
      {"What is left of an operation that has a row of its own: Constant of strings and of sparse "
       "tensors, Reshape before opset 5.",
       {{all_but_onnx, other_forms}}},
      {"Not yet: windows and transforms of signals.",
       {{all_but_onnx, signals}, {{interpreter, tflite, mlir}, "onnx.DFT"}}},
      {"Not yet: layers that few models have.", {{all_but_onnx, rare_layers}}},

      // --- shapes --------------------------------------------------------------------------------
      {"Operands of ONNX Runtime's own operators are not checked before they are resolved into "
       "ONNX's (`resolve_aliases`), which have shapes.",
       {{{shapes},
         "onnx.com.microsoft::BiasGelu onnx.com.microsoft::FastGelu onnx.com.microsoft::Gelu "
         "onnx.com.microsoft::QuickGelu onnx.com.microsoft::SimplifiedLayerNormalization "
         "onnx.com.microsoft::Skip* onnx.com.microsoft::Fused*"}}},
      {"Not yet: shapes follow from constants and attributes, or ranks at least.",
       {{{shapes},
         "onnx.AffineGrid onnx.CenterCropPad onnx.Col2Im onnx.Compress onnx.MaxUnpool onnx.Unique "
         "onnx.com.microsoft::GatherBlockQuantized onnx.com.microsoft::MatMulBnb4 "
         "onnx.com.microsoft::MatMulNBits"},
        {{shapes}, computed_functions}}},

      // --- the interpreter -----------------------------------------------------------------------
      {"ONNX Runtime's operators on codes are made for it alone. Here runs the graph of quantized "
       "types that they are made from.",
       {{{interpreter}, own_codes}}},

      // --- schemes -------------------------------------------------------------------------------
      {"Makes codes, or computes on them already.", {{schemes, "family:code"}}},
      {"Says what is known of ranges; codes are made of it first (`convert_fake_quant`, "
       "`split_fake_quantize`, `take_instrumentation`).",
       {{schemes, "family:simulation"}}},
      {"Stays whole, in float. FusedConv, FusedGemm and FusedMatMul are resolved into operations "
       "of their own by `quadrant convert`.",
       {{schemes, "family:function"}}},
      {"Reads no weight and hands none on.", {{{weight_only}, {}, has_no_weight}}},
      {"A float island: only models that are quantized already get the integer kernel that some "
       "runtime has.",
       {{{static_affine}, {}, is_fused}}},
      {"No runtime that is written for computes it on codes.",
       {{{static_affine}, {}, [](const Row& row) { return !is_fused(row); }}}},
      {"LiteRT has no kernel for its codes, or the writer has no rule with one "
       "([src/io/tflite](../src/io/tflite)).",
       {{{fused_tflite, fused_webnn}, {}, has_no_integer_kernel}}},
      {"What it reads of codes is their type or their shape, or nothing.",
       {{{fused_tflite, fused_webnn},
         "cast onnx.CastLike onnx.ConstantOfShape onnx.Shape onnx.Size"}}},
      {"Not yet: codes go through as they are.",
       {{{fused_tflite, fused_webnn}, "onnx.Dropout onnx.Upsample"}}},
      {"LiteRT could; browsers compute it in float.",
       {{{fused_webnn},
         {},
         [](const Row& row) { return row[fused_tflite].state != State::empty; }}}},
      {"Not yet: ONNX Runtime has an operator on codes for it (QLinearSoftmax, QLinearWhere).",
       {{{fused_onnx}, "onnx.Softmax onnx.Where"}}},
      {"Not yet: ONNX's own operator takes integers of 8 bits in ONNX Runtime, as Slice does.",
       {{{fused_onnx},
         "onnx.ArgMax onnx.ArgMin onnx.DepthToSpace onnx.Equal onnx.GatherElements onnx.GatherND "
         "onnx.Greater onnx.Less onnx.Max onnx.Min onnx.Pad onnx.ReduceMax onnx.ReduceMin "
         "onnx.Resize onnx.ReverseSequence onnx.SpaceToDepth onnx.Tile"}}},
      {"ONNX Runtime has no operator that computes it on codes.", {{{fused_onnx}, {}, is_no_move}}},
      {"Not yet: OpenVINO's own low-precision transformations know it.",
       {{{fused_openvino},
         "gru lstm onnx.InstanceNormalization onnx.LpNormalization "
         "onnx.MeanVarianceNormalization onnx.ReduceMax onnx.ReduceMin onnx.ReduceSum"}}},
      {"OpenVINO's low-precision transformations pass it by.",
       {{{fused_openvino}, {}, is_no_move}}},

      // --- files ---------------------------------------------------------------------------------
      {"An operation of [other IRs](own_ir.md), whose graphs are quantized in place. Not yet: as "
       "the format's own products and sums.",
       {{{onnx, tflite}, "addmm baddbmm batch_matmul linear"},
        {{openvino}, "addmm baddbmm batch_matmul"}}},
      {"Simulated quantization and what is known of ranges: made into codes first "
       "(`convert_fake_quant`, `quantize_simulated`, `take_instrumentation`).",
       {{{onnx, openvino}, "const_fake_quant coupled_ref fake_quant stats stats_ref"},
        {{tflite}, "coupled_ref fake_quant stats stats_ref"},
        {{mlir}, "family:simulation"}}},
      {"Operators on codes stay with ONNX: models of QuantizeLinear and DequantizeLinear, whose "
       "parameters are constants, are the form for all formats.",
       {{other_files, own_codes},
        {other_files, own_storages},
        {{tflite, mlir}, integers},
        {{mlir}, "onnx.DequantizeLinear onnx.QuantizeLinear"}}},
      {"Extents of MLIR's modules are fixed, and these only the data tells.",
       {{{mlir}, "onnx.Compress onnx.NonMaxSuppression onnx.NonZero onnx.Unique"}}},
      {"The format has no such operation, nor a short formula for it.",
       {{{tflite},
         "einsum onnx.AffineGrid onnx.BitwiseAnd onnx.BitwiseNot onnx.BitwiseOr onnx.Col2Im "
         "onnx.Compress onnx.CumProd onnx.GatherElements onnx.GridSample onnx.MaxUnpool "
         "onnx.RoiAlign onnx.Scatter onnx.ScatterElements onnx.TensorScatter"},
        {{openvino}, "onnx.AffineGrid onnx.BitCast onnx.CumProd onnx.MaxUnpool onnx.TensorScatter"},
        {{tflite, openvino},
         "onnx.Det onnx.NegativeLogLikelihoodLoss onnx.SoftmaxCrossEntropyLoss"}}},
      {"Not yet: the format has an operation for it, or a formula of a few.",
       {{{tflite},
         "gru lstm onnx.BitCast onnx.BitShift onnx.CenterCropPad onnx.EyeLike "
         "onnx.Hardmax onnx.MeanVarianceNormalization onnx.NonMaxSuppression rnn"},
        {{openvino}, "onnx.CenterCropPad"},
        {{tflite, openvino, mlir},
         "onnx.Attention onnx.RotaryEmbedding onnx.com.microsoft::RotaryEmbedding"}}},
      {"Not yet: loops of `linalg` could say it.",
       {{{mlir},
         "conv_transpose einsum gru lstm onnx.AffineGrid onnx.ArgMax onnx.ArgMin onnx.BitCast "
         "onnx.CenterCropPad onnx.Col2Im onnx.CumProd onnx.CumSum onnx.Det onnx.EyeLike "
         "onnx.GatherElements onnx.GatherND onnx.GlobalLpPool onnx.GridSample onnx.Hardmax "
         "onnx.LRN onnx.LpNormalization onnx.LpPool onnx.MaxUnpool "
         "onnx.MeanVarianceNormalization onnx.NegativeLogLikelihoodLoss onnx.OneHot onnx.Range "
         "onnx.Resize onnx.ReverseSequence onnx.RoiAlign onnx.Scatter onnx.ScatterElements "
         "onnx.ScatterND onnx.SoftmaxCrossEntropyLoss onnx.TensorScatter onnx.TopK "
         "onnx.Trilu onnx.Upsample rnn"}}},
  };
}

}  // namespace

std::span<const Reason> reasons() {
  static const std::vector<Reason> all = all_reasons();
  return all;
}

}  // namespace quadrant::test
