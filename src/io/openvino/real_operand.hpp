// Operands that OpenVINO must not take for codes.
#pragma once

#include "io/openvino/lower.hpp"

namespace quadrant::inline v0::openvino_ir {

/// Operand `index`, behind a layer that OpenVINO's low-precision passes do not move codes through,
/// where these may come to it: the larger one of it and -infinity, which it is itself.
///
/// For operations that compute something else on codes than they say (seen in release 2026.4): Pad
/// along one axis cuts the number that it fills in to an integer of the codes' type, and AvgPool
/// counts pads as code 0.
[[nodiscard]] Output real_operand(LoweredNode& node, std::size_t index);

}  // namespace quadrant::inline v0::openvino_ir
