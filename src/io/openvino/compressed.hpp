// Weights of codes that OpenVINO's kernels read without making floats of them first.
#pragma once

#include "io/openvino/lower.hpp"

namespace quadrant::inline v0::openvino_ir {

/// What a Gather reads, kept apart from it where that would compute something else of codes and
/// their scales. CPUs look up rows of codes of two axes, or of three that a Reshape may join to
/// two, and take as many codes in a row of memory for each scale and zero point as there are codes
/// for one (seen in release 2026.4.1): scales along a later axis are those of other elements, or
/// are read from behind the last, and a Reshape is taken to join the last two axes.
[[nodiscard]] Output looked_up_weight(LoweredNode& node, Output data);

/// The same for the second factor of a matrix product, whose first one is operand 0. Its kernels
/// take scales and zero points of columns of the product, and of blocks that are summed in each of
/// them; others are taken for these, or the model does not compile, and a batch of one is lost
/// beside a matrix (seen in release 2026.4.1).
[[nodiscard]] Output multiplied_weight(LoweredNode& node, Output weight, bool is_transposed);

}  // namespace quadrant::inline v0::openvino_ir
