// Operations that move or repeat elements, or make tensors of given shapes, and do not compute.
#pragma once

#include <array>

#include "quadrant/ir/ops/elementwise.hpp"
#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/windows.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

// The same elements.
[[nodiscard]] Expected<Tensors> identity(const KernelCall& call);
[[nodiscard]] Expected<Tensors> dropout(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reshape(const KernelCall& call);
[[nodiscard]] Expected<Tensors> squeeze(const KernelCall& call);
[[nodiscard]] Expected<Tensors> unsqueeze(const KernelCall& call);
[[nodiscard]] Expected<Tensors> flatten(const KernelCall& call);

// In another order, or some of them.
[[nodiscard]] Expected<Tensors> transpose(const KernelCall& call);
[[nodiscard]] Expected<Tensors> depth_to_space(const KernelCall& call);
[[nodiscard]] Expected<Tensors> space_to_depth(const KernelCall& call);
[[nodiscard]] Expected<Tensors> reverse_sequence(const KernelCall& call);
[[nodiscard]] Expected<Tensors> slice(const KernelCall& call);
[[nodiscard]] Expected<Tensors> split(const KernelCall& call);
[[nodiscard]] Expected<Tensors> concat(const KernelCall& call);

// Repeated, or with others around them.
[[nodiscard]] Expected<Tensors> expand(const KernelCall& call);
[[nodiscard]] Expected<Tensors> tile(const KernelCall& call);
[[nodiscard]] Expected<Tensors> pad(const KernelCall& call);
[[nodiscard]] Expected<Tensors> center_crop_pad(const KernelCall& call);
[[nodiscard]] Expected<Tensors> trilu(const KernelCall& call);

// From shapes and numbers.
[[nodiscard]] Expected<Tensors> shape_of(const KernelCall& call);
[[nodiscard]] Expected<Tensors> size_of(const KernelCall& call);
[[nodiscard]] Expected<Tensors> constant_of_shape(const KernelCall& call);
[[nodiscard]] Expected<Tensors> range(const KernelCall& call);
[[nodiscard]] Expected<Tensors> eye_like(const KernelCall& call);

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
