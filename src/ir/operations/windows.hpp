// Poolings, borders and resampling.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "ir/ops/windows.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::array window_rows{
    window(ops::AffineGrid::kind, {2, 2}),
    window(ops::AveragePool::kind, {1, 1}, one<infer_pooled>, in_range),
    window(ops::CenterCropPad::kind, {2, 2}),
    window(ops::Col2Im::kind, {3, 3}),
    window(ops::GlobalAveragePool::kind, {1, 1}, one<infer_pooled_whole>),
    window(ops::GlobalLpPool::kind, {1, 1}, one<infer_pooled_whole>),
    window(ops::GlobalMaxPool::kind, {1, 1}, one<infer_pooled_whole>),
    window(ops::GridSample::kind, {2, 2}, infer_sampled),
    window(ops::LpPool::kind, {1, 1}, one<infer_pooled>),
    window(ops::MaxPool::kind, {1, 1}, infer_largest_of_windows, taking, {1, 2}),
    window(ops::MaxUnpool::kind, {2, 3}),
    roled("ds", where(window(ops::Pad::kind, {1, 4}, one<infer_padded>), traits_of_padding)),
    roled("ds", where(window(ops::Resize::kind, {1, 4}, one<infer_resized>), traits_of_resize)),
    window(ops::RoiAlign::kind, {3, 3}, infer_pooled_boxes),
    roled("ds", window(ops::Upsample::kind, {1, 2}, one<infer_resized>))};

}  // namespace quadrant::inline v0::detail
