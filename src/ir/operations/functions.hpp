// Operations of many parts, of subgraphs, sequences and strings, and losses: most are carried as
// they are.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "ir/ops/functions.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::array function_rows{
    // Contents are an attribute, and so was a shape before opset 5: not as of `constant`,
    // `reshape`.
    function("onnx.Constant", {0, 0}), function("onnx.Reshape", {1, 2}),
    // What their attributes and further operands add, no rule of shapes knows.
    function("onnx.com.microsoft::FusedConv", {2, 4}),
    function("onnx.com.microsoft::FusedGemm", {2, 3}),
    function("onnx.com.microsoft::FusedMatMul", {2, 2}),
    function("onnx.com.microsoft::RotaryEmbedding", {4, 4}, one<infer_as_operand>, same_shape),
    function(ops::Attention::kind, {3, 7}, nullptr, {}, {1, 4}), function("onnx.Bernoulli"),
    function("onnx.BlackmanWindow"),
    function("onnx.CausalConvWithState", {2, 4}, nullptr, {}, {2, 2}),
    function("onnx.ConcatFromSequence"), function(ops::DFT::kind, {1, 3}, infer_transformed),
    function("onnx.DeformConv", {3, 5}), function(ops::Det::kind), function("onnx.HammingWindow"),
    function("onnx.HannWindow"),
    function(ops::If::kind, {1, any_number}, nullptr, {}, {1, any_number}),
    function("onnx.ImageDecoder"), function("onnx.LinearAttention", {3, 6}, nullptr, {}, {2, 2}),
    function(ops::Loop::kind, {}, nullptr, {}, {1, any_number}),
    function("onnx.MaxRoiPool", {2, 2}), function("onnx.MelWeightMatrix", {5, 5}),
    function("onnx.Multinomial"), function(ops::NegativeLogLikelihoodLoss::kind, {2, 3}),
    function("onnx.Optional", {0, 1}), function("onnx.OptionalGetElement"),
    function("onnx.OptionalHasElement", {0, 1}), function("onnx.RandomNormal", {0, 0}),
    function("onnx.RandomNormalLike"), function("onnx.RandomUniform", {0, 0}),
    function("onnx.RandomUniformLike"), function("onnx.RegexFullMatch"),
    function(ops::RotaryEmbedding::kind, {3, 4}), function("onnx.STFT", {2, 4}),
    function(ops::Scan::kind, {}, nullptr, {}, {1, any_number}),
    function("onnx.SequenceAt", {2, 2}), function("onnx.SequenceConstruct", {1, any_number}),
    function("onnx.SequenceEmpty", {0, 0}), function("onnx.SequenceErase", {1, 2}),
    function("onnx.SequenceInsert", {2, 3}), function("onnx.SequenceLength"),
    function(ops::SequenceMap::kind, {1, any_number}, nullptr, {}, {1, any_number}),
    function(ops::SoftmaxCrossEntropyLoss::kind, {2, 3}, nullptr, {}, {1, 2}),
    function("onnx.SplitToSequence", {1, 2}), function("onnx.StringConcat", {2, 2}),
    function("onnx.StringNormalizer"), function("onnx.StringSplit", {1, 1}, nullptr, {}, {2, 2}),
    function("onnx.TfIdfVectorizer")};

}  // namespace quadrant::inline v0::detail
