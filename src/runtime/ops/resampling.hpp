// Operations that read images between their pixels, and what goes with boxes in images.
#pragma once

#include <array>

#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction resize, upsample, affine_grid, grid_sample, roi_align, non_max_suppression, col2im;

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
