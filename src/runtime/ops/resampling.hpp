// Operations that read images between their pixels, and what goes with boxes in images.
#pragma once

#include <array>

#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/windows.hpp"
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
    KernelEntry{ops::AffineGrid::kind, affine_grid, HalfFloats::widened},
    KernelEntry{ops::Col2Im::kind, col2im, HalfFloats::widened},
    KernelEntry{ops::GridSample::kind, grid_sample, HalfFloats::widened},
    KernelEntry{ops::NonMaxSuppression::kind, non_max_suppression, HalfFloats::widened},
    KernelEntry{ops::Resize::kind, resize, HalfFloats::widened},
    KernelEntry{ops::RoiAlign::kind, roi_align, HalfFloats::widened},
    KernelEntry{ops::Upsample::kind, upsample, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
