// Normalizations.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "ir/ops/normalization.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::array normalization_rows{
    normalization("onnx.com.microsoft::SimplifiedLayerNormalization", {2, 2}, nullptr, {}, {1, 2}),
    normalization("onnx.com.microsoft::SkipLayerNormalization", {3, 5}, nullptr, {}, {1, 4}),
    normalization("onnx.com.microsoft::SkipSimplifiedLayerNormalization", {3, 4}, nullptr, {},
                  {1, 4}),
    normalization(ops::BatchNormalization::kind, {5, 5}, one<infer_as_operand>, same_shape, {1, 5}),
    normalization(ops::GroupNormalization::kind, {3, 3}, one<infer_as_operand>, same_shape),
    normalization(ops::Hardmax::kind, {1, 1}, one<infer_along_an_axis>),
    normalization(ops::InstanceNormalization::kind, {3, 3}, one<infer_as_operand>, same_shape),
    normalization(ops::LRN::kind, {1, 1}, one<infer_as_operand>, same_shape),
    normalization(ops::LayerNormalization::kind, {2, 3}, one<infer_as_operand>, same_shape, {1, 3}),
    normalization(ops::LogSoftmax::kind, {1, 1}, one<infer_along_an_axis>),
    normalization(ops::LpNormalization::kind, {1, 1}, one<infer_as_operand>, same_shape),
    normalization(ops::MeanVarianceNormalization::kind, {1, 1}, one<infer_as_operand>, same_shape),
    normalization(ops::RMSNormalization::kind, {2, 2}, one<infer_as_operand>, same_shape),
    normalization(ops::SimplifiedLayerNormalization::kind, {2, 2}, one<infer_as_operand>,
                  same_shape, {1, 2}),
    normalization(ops::Softmax::kind, {1, 1}, one<infer_along_an_axis>)};

}  // namespace quadrant::inline v0::detail
