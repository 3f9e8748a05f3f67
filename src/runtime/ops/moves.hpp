// Operations that move or repeat elements, or make tensors of given shapes, and do not compute.
#pragma once

#include <array>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

// The same elements.
KernelFunction identity, dropout, reshape, squeeze, unsqueeze, flatten;

// In another order, or some of them.
KernelFunction transpose, depth_to_space, space_to_depth, reverse_sequence, slice, split, concat;

// Repeated, or with others around them.
KernelFunction expand, tile, pad, center_crop_pad, trilu;

// From shapes and numbers.
KernelFunction shape_of, size_of, constant_of_shape, range, eye_like;

inline constexpr std::array moves{
    KernelEntry{"concat", concat},
    KernelEntry{"expand", expand},
    KernelEntry{"flatten", flatten},
    KernelEntry{"identity", identity},
    KernelEntry{"coupled_ref", identity},
    KernelEntry{"stats", identity},
    KernelEntry{"stats_ref", identity},
    KernelEntry{ops::CenterCropPad::kind, center_crop_pad},
    KernelEntry{ops::ConstantOfShape::kind, constant_of_shape},
    KernelEntry{ops::DepthToSpace::kind, depth_to_space},
    KernelEntry{ops::Dropout::kind, dropout},
    KernelEntry{ops::EyeLike::kind, eye_like},
    KernelEntry{ops::Pad::kind, pad},
    KernelEntry{ops::Range::kind, range},
    KernelEntry{ops::ReverseSequence::kind, reverse_sequence},
    KernelEntry{ops::ShapeOf::kind, shape_of},
    KernelEntry{ops::Size::kind, size_of},
    KernelEntry{ops::SpaceToDepth::kind, space_to_depth},
    KernelEntry{ops::Tile::kind, tile},
    KernelEntry{ops::Trilu::kind, trilu},
    KernelEntry{"reshape", reshape},
    KernelEntry{"slice", slice},
    KernelEntry{"split", split},
    KernelEntry{"squeeze", squeeze},
    KernelEntry{"transpose", transpose},
    KernelEntry{"unsqueeze", unsqueeze},
};

}  // namespace quadrant::inline v0::interpreted
