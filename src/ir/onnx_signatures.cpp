#include "ir/onnx_signatures.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/shape_rules.hpp"

namespace quadrant::inline v0::detail {
namespace {

struct Signature {
  Count operands;  // the first `least` must not be absent
  Count results;
  std::string_view names;  // of operators, with a blank between
};

// Of all versions together: the fewest, and the most. https://onnx.ai/onnx/operators
constexpr auto signatures = std::to_array<Signature>({
    {{0, 0}, {1, 1}, "Constant RandomNormal RandomUniform SequenceEmpty"},
    {{0, 1}, {1, 1}, "Optional OptionalHasElement"},
    {{0, any_number}, {1, any_number}, "Loop Scan"},
    {{1, 1},
     {1, 1},
     "Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Bernoulli BitCast "
     "BitwiseNot BlackmanWindow Cast Ceil Celu ConcatFromSequence ConstantOfShape Cos "
     "Cosh DepthToSpace Det Elu Erf Exp EyeLike Flatten Floor Gelu GlobalAveragePool "
     "GlobalLpPool GlobalMaxPool HammingWindow HannWindow HardSigmoid HardSwish "
     "Hardmax Identity ImageDecoder IsInf IsNaN LRN LeakyRelu Log LogSoftmax "
     "LpNormalization LpPool MeanVarianceNormalization Mish Multinomial Neg NonZero "
     "Not OptionalGetElement RandomNormalLike RandomUniformLike Reciprocal "
     "RegexFullMatch Relu Round Selu SequenceLength Shape Shrink Sigmoid Sign Sin Sinh "
     "Size Softmax Softplus Softsign SpaceToDepth Sqrt StringNormalizer Swish Tan Tanh "
     "TfIdfVectorizer ThresholdedRelu Transpose"},
    {{1, 1}, {1, 2}, "MaxPool"},
    {{1, 1}, {1, 4}, "Unique"},
    {{1, 1}, {2, 2}, "StringSplit"},
    {{1, 1}, {3, 3}, "DynamicQuantizeLinear"},
    {{1, 2},
     {1, 1},
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
     "ReduceProd ReduceSum ReduceSumSquare Reshape SequenceErase SplitToSequence "
     "Squeeze Trilu Unsqueeze Upsample"},
    {{1, 2}, {1, any_number}, "Split"},
    {{1, 2}, {2, 2}, "TopK"},
    {{1, 3}, {1, 1}, "Clip DFT"},
    {{1, 3}, {1, 2}, "Dropout"},
    {{1, 4}, {1, 1}, "Pad Resize"},
    {{1, 5}, {1, 1}, "Slice"},
    {{1, any_number}, {1, 1}, "Concat Einsum Max Mean Min SequenceConstruct Sum"},
    {{1, any_number}, {1, any_number}, "If SequenceMap"},
    {{2, 2},
     {1, 1},
     "Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike "
     "CenterCropPad Compress CumProd CumSum Div Equal Expand Gather GatherElements "
     "GatherND Greater GreaterOrEqual GridSample Less LessOrEqual MatMul MaxRoiPool "
     "Mod Mul Or PRelu Pow RMSNormalization ReverseSequence SequenceAt StringConcat "
     "Sub SwiGLU Xor"},
    {{2, 3},
     {1, 1},
     "Conv ConvTranspose DequantizeLinear Gemm MaxUnpool NegativeLogLikelihoodLoss "
     "QuantizeLinear SequenceInsert TensorScatter Tile"},
    {{2, 3}, {1, 2}, "SoftmaxCrossEntropyLoss"},
    {{2, 3}, {1, 3}, "LayerNormalization"},
    {{2, 4}, {1, 1}, "ConvInteger MatMulInteger STFT"},
    {{2, 4}, {2, 2}, "CausalConvWithState"},
    {{2, 5}, {1, 1}, "NonMaxSuppression"},
    {{3, 3},
     {1, 1},
     "Col2Im GroupNormalization InstanceNormalization OneHot Range RoiAlign Scatter "
     "ScatterElements ScatterND Where"},
    {{3, 4}, {1, 1}, "RotaryEmbedding"},
    {{3, 5}, {1, 1}, "DeformConv"},
    {{3, 6}, {0, 2}, "GRU RNN"},
    {{3, 6}, {2, 2}, "LinearAttention"},
    {{3, 7}, {1, 4}, "Attention"},
    {{3, 8}, {0, 3}, "LSTM"},
    {{5, 5}, {1, 1}, "MelWeightMatrix"},
    {{5, 5}, {1, 5}, "BatchNormalization"},
    {{8, 8}, {1, 1}, "QLinearMatMul"},
    {{8, 9}, {1, 1}, "QLinearConv"},
});

bool holds(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

Expected<void> check_onnx_signature(NodeRef node) {
  constexpr std::string_view prefix = "onnx.";
  if (!node.kind().starts_with(prefix)) return {};
  const std::string_view name = node.kind().substr(prefix.size());
  const auto* const found = std::ranges::find_if(
      signatures, [&](const Signature& signature) { return holds(signature.names, name); });
  return found == signatures.end() ? Expected<void>()
                                   : check_counts(node, found->operands, found->results);
}

}  // namespace quadrant::inline v0::detail
