// Operations that bring elements to a common size: by the sum of a lane, by mean and variance, by
// their neighbours.
#pragma once

#include <array>

#include "ir/ops/normalization.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction softmax, log_softmax, hardmax, lp_normalization;

KernelFunction batch_normalization, instance_normalization, group_normalization,
    layer_normalization, rms_normalization, skip_layer_normalization, skip_rms_normalization,
    mean_variance_normalization, lrn;

inline constexpr std::array normalization{
    KernelEntry{ops::Softmax::kind, softmax, HalfFloats::widened},
    KernelEntry{ops::LogSoftmax::kind, log_softmax, HalfFloats::widened},
    KernelEntry{ops::Hardmax::kind, hardmax, HalfFloats::widened},
    KernelEntry{ops::LpNormalization::kind, lp_normalization, HalfFloats::widened},
    // Operands or results may be of another type than the data.
    KernelEntry{ops::BatchNormalization::kind, batch_normalization, HalfFloats::kept},
    KernelEntry{ops::InstanceNormalization::kind, instance_normalization, HalfFloats::widened},
    KernelEntry{ops::GroupNormalization::kind, group_normalization, HalfFloats::widened},
    KernelEntry{ops::LayerNormalization::kind, layer_normalization, HalfFloats::kept},
    KernelEntry{ops::RMSNormalization::kind, rms_normalization, HalfFloats::kept},
    // ONNX Runtime has this one in the default domain too.
    KernelEntry{ops::SimplifiedLayerNormalization::kind, rms_normalization, HalfFloats::kept},
    KernelEntry{"onnx.com.microsoft::SimplifiedLayerNormalization", rms_normalization,
                HalfFloats::kept},
    KernelEntry{"onnx.com.microsoft::SkipLayerNormalization", skip_layer_normalization,
                HalfFloats::kept},
    KernelEntry{"onnx.com.microsoft::SkipSimplifiedLayerNormalization", skip_rms_normalization,
                HalfFloats::kept},
    KernelEntry{ops::MeanVarianceNormalization::kind, mean_variance_normalization,
                HalfFloats::widened},
    KernelEntry{ops::LRN::kind, lrn, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
