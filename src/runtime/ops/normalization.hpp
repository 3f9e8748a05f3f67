// Operations that bring elements to a common size: by the sum of a lane, by mean and variance, by
// their neighbours.
#pragma once

#include <array>

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
    KernelEntry{"onnx.Softmax", softmax, HalfFloats::widened},
    KernelEntry{"onnx.LogSoftmax", log_softmax, HalfFloats::widened},
    KernelEntry{"onnx.Hardmax", hardmax, HalfFloats::widened},
    KernelEntry{"onnx.LpNormalization", lp_normalization, HalfFloats::widened},
    // Operands or results may be of another type than the data.
    KernelEntry{"onnx.BatchNormalization", batch_normalization, HalfFloats::kept},
    KernelEntry{"onnx.InstanceNormalization", instance_normalization, HalfFloats::widened},
    KernelEntry{"onnx.GroupNormalization", group_normalization, HalfFloats::widened},
    KernelEntry{"onnx.LayerNormalization", layer_normalization, HalfFloats::kept},
    KernelEntry{"onnx.RMSNormalization", rms_normalization, HalfFloats::kept},
    // ONNX Runtime has this one in the default domain too.
    KernelEntry{"onnx.SimplifiedLayerNormalization", rms_normalization, HalfFloats::kept},
    KernelEntry{"onnx.com.microsoft::SimplifiedLayerNormalization", rms_normalization,
                HalfFloats::kept},
    KernelEntry{"onnx.com.microsoft::SkipLayerNormalization", skip_layer_normalization,
                HalfFloats::kept},
    KernelEntry{"onnx.com.microsoft::SkipSimplifiedLayerNormalization", skip_rms_normalization,
                HalfFloats::kept},
    KernelEntry{"onnx.MeanVarianceNormalization", mean_variance_normalization, HalfFloats::widened},
    KernelEntry{"onnx.LRN", lrn, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
