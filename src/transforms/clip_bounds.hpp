// Between which numbers a Clip keeps its elements.
#pragma once

#include "quadrant/ir/graph_view.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// Infinite where there is none; a bound that no float32 reaches is none.
struct ClipBounds {
  double low = 0;
  double high = 0;
};

/// Of an onnx.Clip: constants, or before opset 11 attributes.
[[nodiscard]] OrReason<ClipBounds> read_clip(const NodeRef& clip);

}  // namespace quadrant::inline v0
