// Strides, dilations and paddings of convolutions and poolings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/openvino/lower.hpp"
#include "io/openvino/raise.hpp"

namespace quadrant::inline v0::openvino_ir {

/// The attributes `strides`, `dilations` (if `has_dilations`), `pads` or `auto_pad`, as ONNX has
/// them, of a layer that slides over images of `rank` spatial axes. `invalid` for lists of another
/// length.
[[nodiscard]] Attributes raised_windows(RaisedLayer& layer, std::size_t rank, bool has_dilations);

/// The other way.
[[nodiscard]] Data lowered_windows(const LoweredNode& node, std::size_t rank, bool has_dilations);

/// The `auto_pad` of these.
[[nodiscard]] std::string_view automatic_padding(const Data& data);

/// A list attribute of ONNX, or as many of `fallback`; `invalid` for another length.
[[nodiscard]] std::vector<std::int64_t> list_of(const LoweredNode& node, std::string_view name,
                                                std::size_t size, std::int64_t fallback);

}  // namespace quadrant::inline v0::openvino_ir
