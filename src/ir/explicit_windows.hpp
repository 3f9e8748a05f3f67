// What `auto_pad` and `output_shape` mean, as numbers: formats and runtimes differ in it.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::detail {

/// Gives convolutions, transposed ones and poolings the `pads` (and `output_padding`) that their
/// `auto_pad` and `output_shape` mean, as ONNX Runtime computes them, and takes those away. What
/// these mean for extents that are not known stays, and so does what runtimes say different things
/// about. Infers shapes on the way, as `infer_shapes` does, with its errors. Linear.
[[nodiscard]] Expected<void> make_windows_explicit(Graph& graph);

}  // namespace quadrant::inline v0::detail
