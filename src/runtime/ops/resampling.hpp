// Operations that read images between their pixels, and what goes with boxes in images.
#pragma once

#include <array>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> resize(const KernelCall& call);
[[nodiscard]] Expected<Tensors> upsample(const KernelCall& call);
[[nodiscard]] Expected<Tensors> affine_grid(const KernelCall& call);
[[nodiscard]] Expected<Tensors> grid_sample(const KernelCall& call);
[[nodiscard]] Expected<Tensors> roi_align(const KernelCall& call);
[[nodiscard]] Expected<Tensors> non_max_suppression(const KernelCall& call);
[[nodiscard]] Expected<Tensors> col2im(const KernelCall& call);

inline constexpr std::array resampling{
    KernelEntry{"onnx.AffineGrid", affine_grid, HalfFloats::widened},
    KernelEntry{"onnx.Col2Im", col2im, HalfFloats::widened},
    KernelEntry{"onnx.GridSample", grid_sample, HalfFloats::widened},
    KernelEntry{"onnx.NonMaxSuppression", non_max_suppression, HalfFloats::widened},
    KernelEntry{"onnx.Resize", resize, HalfFloats::widened},
    KernelEntry{"onnx.RoiAlign", roi_align, HalfFloats::widened},
    KernelEntry{"onnx.Upsample", upsample, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
