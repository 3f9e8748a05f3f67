// Places and shapes as data.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "ir/ops/places.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::array place_rows{
    place(ops::Compress::kind, {2, 2}),
    place(ops::ConstantOfShape::kind, {1, 1}, infer_filled_tensor),
    place(ops::DepthToSpace::kind, {1, 1}, one<infer_depth_to_space>, keeping),
    place(ops::EyeLike::kind, {1, 1}, infer_unit_matrix),
    roled("td", place(ops::GatherElements::kind, {2, 2}, infer_by_elements)),
    roled("td", place(ops::GatherND::kind, {2, 2}, infer_by_several_indices)),
    roled("dds", place(ops::NonMaxSuppression::kind, {2, 5}, infer_boxes_that_stay)),
    place(ops::NonZero::kind, {1, 1}, infer_places_of_values),
    roled("ds", place(ops::OneHot::kind, {3, 3}, infer_one_hot)),
    roled("s", place(ops::Range::kind, {3, 3}, infer_range_of_numbers)),
    place(ops::ReverseSequence::kind, {2, 2}, one<infer_as_operand>, same_shape),
    place(ops::Scatter::kind, {3, 3}, one<infer_as_operand>, same_shape),
    place(ops::ScatterElements::kind, {3, 3}, one<infer_as_operand>, same_shape),
    place(ops::ScatterND::kind, {3, 3}, one<infer_as_operand>, same_shape),
    place(ops::ShapeOf::kind, {1, 1}, one<infer_shape_of>),
    place(ops::Size::kind, {1, 1}, infer_count_of_elements),
    place(ops::SpaceToDepth::kind, {1, 1}, one<infer_space_to_depth>, keeping),
    place(ops::TensorScatter::kind, {2, 3}, one<infer_as_operand>, same_shape),
    place(ops::Tile::kind, {2, 3}, one<infer_tiled>, taking),
    place(ops::TopK::kind, {1, 2}, infer_largest_ones, {}, {2, 2}),
    place(ops::Trilu::kind, {1, 2}, one<infer_as_operand>, same_shape),
    place(ops::Unique::kind, {1, 1}, nullptr, {}, {1, 4})};

}  // namespace quadrant::inline v0::detail
