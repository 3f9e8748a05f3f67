// Operations that bring elements to a common size: by the sum of a lane, by mean and variance, by
// their neighbours.
#pragma once

#include <array>

#include "quadrant/ir/ops/normalization.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> softmax(const KernelCall& call);
[[nodiscard]] Expected<Tensors> log_softmax(const KernelCall& call);
[[nodiscard]] Expected<Tensors> hardmax(const KernelCall& call);
[[nodiscard]] Expected<Tensors> lp_normalization(const KernelCall& call);

[[nodiscard]] Expected<Tensors> batch_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> instance_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> group_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> layer_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> rms_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> skip_layer_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> skip_rms_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> mean_variance_normalization(const KernelCall& call);
[[nodiscard]] Expected<Tensors> lrn(const KernelCall& call);

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
